/** What the agent may do, as settings say it and as the protocol wants it: approval policy, sandbox at start, policy on every turn. */
import type { Settings } from "../../domain/settings.ts";
import { objectAt, type JsonObject } from "./reading.ts";
import type { SandboxPolicy } from "./protocol.ts";

const DEFAULT_APPROVAL_POLICY = "never";
/**
 * A start with a writable sandbox makes the app-server trust the repository: it writes that down, honours the repository's own
 * `.codex/config.toml` and starts the MCP servers that it names, outside the sandbox. A read-only start does none of it, keeps
 * AGENTS.md and skills, and the policy that each turn carries says what is really allowed (measured).
 */
const DEFAULT_THREAD_SANDBOX = "read-only";

/** The settings' own value, else "never": nobody is there to be asked. */
export function approvalPolicy({ codex }: Settings): unknown {
  return codex.approvalPolicy ?? DEFAULT_APPROVAL_POLICY;
}

export function threadSandbox({ codex }: Settings): string {
  return codex.threadSandbox ?? DEFAULT_THREAD_SANDBOX;
}

/** Whether the start would make the app-server trust the repository. */
export function wouldTrust(settings: Settings): boolean {
  return threadSandbox(settings) !== DEFAULT_THREAD_SANDBOX;
}

/** The session can't be had without the experimental part of the protocol; otherwise it isn't asked for. */
export function needsExperimentalApi(settings: Settings, toolCount: number): boolean {
  return toolCount > 0 || objectAt({ policy: approvalPolicy(settings) }, "policy") !== null;
}

/** `config` of thread/start and thread/resume. `temporary`: where the agent's commands put their temporary files, if not where all do. */
export function threadConfig(settings: Settings, workspacePath: string, temporary: string | null): JsonObject {
  const untrusted = wouldTrust(settings) && !settings.codex.trustProject;
  return {
    // With it a refused connection is retried for ever, and the turn never fails by itself (measured).
    "features.unbounded_connection_retries": false,
    // Else commands run in a login shell, or with a snapshot of one, and see what the user's profile exports (measured). PATH and
    // the tool chains of the profile are in codex's own environment, which the commands get either way.
    allow_login_shell: false,
    "features.shell_snapshot": false,
    ...(temporary === null ? {} : { "shell_environment_policy.set.TMPDIR": temporary }),
    ...(untrusted ? { projects: { [workspacePath]: { trust_level: "untrusted" } } } : {}),
  };
}

/** What the turn's policy lets the agent write besides its workspace. */
export interface Writable {
  /** Without them the agent can't commit. */
  readonly gitDirs: readonly string[];
  /** A temporary folder of the session's own, in place of the system's; null: the system's. */
  readonly temporary: string | null;
}

/**
 * `sandboxPolicy` of turn/start. An explicit policy is sent unchanged; else the one that the thread's sandbox means, which a
 * resumed thread would otherwise have lost.
 */
export function turnSandboxPolicy(
  settings: Settings,
  workspacePath: string,
  { gitDirs, temporary }: Writable = { gitDirs: [], temporary: null },
): unknown {
  const { turnSandboxPolicy: explicit, threadSandbox: sandbox } = settings.codex;
  if (explicit !== null && explicit !== undefined) return explicit;
  switch (sandbox) {
    case "read-only":
      return { type: "readOnly" } satisfies SandboxPolicy;
    case "danger-full-access":
      return { type: "dangerFullAccess" } satisfies SandboxPolicy;
    default:
      return {
        type: "workspaceWrite",
        writableRoots: [workspacePath, ...gitDirs, ...(temporary === null ? [] : [temporary])],
        networkAccess: false,
        excludeTmpdirEnvVar: temporary !== null,
        excludeSlashTmp: temporary !== null,
      } satisfies SandboxPolicy;
  }
}

/** Whether the turn's policy is the daemon's own, with places for the git directories and for temporary files. */
export function usesOwnTurnPolicy({ codex }: Settings): boolean {
  const explicit = codex.turnSandboxPolicy !== null && codex.turnSandboxPolicy !== undefined;
  return !explicit && codex.threadSandbox !== "read-only" && codex.threadSandbox !== "danger-full-access";
}

/** Whether the git directories are to be writable. */
export function usesGitDirs(settings: Settings): boolean {
  return settings.codex.gitWrites && usesOwnTurnPolicy(settings);
}
