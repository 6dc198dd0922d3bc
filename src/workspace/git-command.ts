/** Runs git on what an agent may have written, without running anything that the repository names. */
import { execa } from "execa";

/** Configuration for one call: names and values. */
export type GitConfig = readonly (readonly [name: string, value: string])[];

export interface GitCall {
  readonly cwd: string;
  /** PATH, to find git by. */
  readonly searchPath: string;
  readonly signal: AbortSignal;
  readonly config?: GitConfig;
  /** Where repository, work tree, index and objects are, and who commits. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** Answers the output byte for byte, one character each: file names need not be UTF-8. */
  readonly bytes?: boolean;
  /** A file that gets the output instead of the answer. */
  readonly toFile?: string;
}

export interface GitResult {
  /** Null when git wasn't found, or died of a signal. */
  readonly exitCode: number | null;
  /** Whole, or null when it was longer than {@link MAX_OUTPUT_CHARS}; empty when it went to a file. */
  readonly stdout: string | null;
  /** The end of what it complained of. */
  readonly complaint: string;
  /** There is no git on the path. */
  readonly missing: boolean;
}

/** Tens of thousands of paths; who asks for more has to do without. */
const MAX_OUTPUT_CHARS = 50_000_000;
const COMPLAINT_CHARS = 500;

/**
 * Nothing but the path to git is inherited. The repository is the agent's to write, and much of its configuration names programs:
 * no hook, no file system monitor, no transport and no configuration from outside.
 */
function gitEnvironment({ searchPath, config = [], env = {} }: GitCall): Record<string, string> {
  const settings = [
    ["core.hooksPath", "/dev/null"],
    ["core.fsmonitor", "false"],
    ["core.untrackedCache", "false"],
    ...config,
  ] as const;
  const environment: Record<string, string> = {
    PATH: searchPath,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_LAZY_FETCH: "1",
    ...env,
    GIT_CONFIG_COUNT: String(settings.length),
  };
  for (const [index, [name, value]] of settings.entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = name;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return environment;
}

/** Never rejects for a failing git; rejects with the signal's reason. */
export async function runGit(args: readonly string[], call: GitCall): Promise<GitResult> {
  const { cwd, signal, input, toFile, bytes = false } = call;
  const result = await execa("git", args, {
    cwd,
    env: gitEnvironment(call),
    extendEnv: false,
    ...(input === undefined ? { stdin: "ignore" } : { input }),
    stdout: toFile === undefined ? "pipe" : { file: toFile },
    reject: false,
    stripFinalNewline: false,
    encoding: bytes ? "latin1" : "utf8",
    maxBuffer: { stdout: MAX_OUTPUT_CHARS, stderr: MAX_OUTPUT_CHARS },
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  return {
    exitCode: result.exitCode ?? null,
    stdout: result.isMaxBuffer ? null : textOf(result.stdout),
    complaint: (textOf(result.stderr) || (result.shortMessage ?? "")).trim().slice(-COMPLAINT_CHARS),
    missing: result.code === "ENOENT",
  };
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : "";
}

/** Clean and process filters run for each changed file; all that the repository defines are switched off by name. `names`: `git config --list --name-only -z`. */
export function withoutFilters(names: string): GitConfig {
  const drivers = new Set<string>();
  for (const name of names.split("\0")) {
    const driver = /^filter\.(.*)\.[^.]*$/s.exec(name)?.[1];
    if (driver !== undefined) drivers.add(driver);
  }
  return [...drivers].flatMap((driver) => [
    [`filter.${driver}.clean`, ""] as const,
    [`filter.${driver}.smudge`, ""] as const,
    [`filter.${driver}.process`, ""] as const,
    [`filter.${driver}.required`, "false"] as const,
  ]);
}
