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

/** `config` of thread/start and thread/resume. */
export function threadConfig(settings: Settings, workspacePath: string): JsonObject {
  const untrusted = wouldTrust(settings) && !settings.codex.trustProject;
  return {
    // With it a refused connection is retried for ever, and the turn never fails by itself (measured).
    "features.unbounded_connection_retries": false,
    ...(untrusted ? { projects: { [workspacePath]: { trust_level: "untrusted" } } } : {}),
  };
}

/**
 * `sandboxPolicy` of turn/start. An explicit policy is sent unchanged; else the one that the thread's sandbox means, which a
 * resumed thread would otherwise have lost. `gitDirs` join the writable roots: without them the agent can't commit.
 */
export function turnSandboxPolicy(settings: Settings, workspacePath: string, gitDirs: readonly string[]): unknown {
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
        writableRoots: [workspacePath, ...gitDirs],
        networkAccess: false,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: false,
      } satisfies SandboxPolicy;
  }
}

/** Whether the turn's policy has a place for the git directories. */
export function usesGitDirs({ codex }: Settings): boolean {
  const explicit = codex.turnSandboxPolicy !== null && codex.turnSandboxPolicy !== undefined;
  return (
    codex.gitWrites && !explicit && codex.threadSandbox !== "read-only" && codex.threadSandbox !== "danger-full-access"
  );
}
