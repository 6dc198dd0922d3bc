/** A look at the agent before any ticket is given to it: does it start, is it logged in, can a sandboxed command run here. */
import { errorMessage } from "../../domain/errors.ts";
import type { AgentCheck, CheckRequest } from "../port.ts";
import type { Channel } from "./channel.ts";
import { closeOnAbort, launch, type LaunchDeps } from "./launch.ts";
import { approvalPolicy, needsExperimentalApi, turnSandboxPolicy } from "./policy.ts";
import { asObject, booleanAt, bounded, numberAt, objectAt, stringAt } from "./reading.ts";
import { RpcError, unknownMethod } from "./wire.ts";

const PROBE_TIMEOUT_MS = 5000;
const MESSAGE_CHARS = 500;
const UNSANDBOXED = new Set(["dangerFullAccess", "externalSandbox"]);

/** Rejects with SessionStartError when it can't even be started. The process is gone when this settles. */
export async function checkAgent(deps: LaunchDeps, request: CheckRequest): Promise<AgentCheck> {
  const { settings, cwd, runMarker, signal } = request;
  const { connection, version } = await launch(deps, {
    settings,
    cwd,
    runMarker,
    signal,
    experimentalApi: needsExperimentalApi(settings, 0),
    connected: () => {},
    spawned: (identity) => request.spawned(identity),
    handlers: {
      onNotification: () => {},
      onRequest: (method) => {
        throw unknownMethod(method);
      },
      onNoise: () => {},
      onFault: () => {},
    },
  });
  try {
    using _ = closeOnAbort(connection, signal);
    const login = await checkLogin(connection.channel, request);
    request.loginFound?.(login);
    return {
      version,
      login,
      sandbox: await checkSandbox(connection.channel, request),
      warnings: await checkMcpServers(connection.channel, request),
    };
  } finally {
    await connection.stop();
  }
}

async function checkLogin(channel: Channel, { settings }: CheckRequest): Promise<AgentCheck["login"]> {
  try {
    const reply = await channel.request("account/read", { refreshToken: false }, settings.codex.readTimeoutMs);
    const needed = booleanAt(reply, "requiresOpenaiAuth");
    if (needed === null) return { state: "unknown", message: "the agent doesn't say whether it is logged in" };
    const isMissing = needed && asObject(asObject(reply)?.["account"]) === null;
    if (isMissing) {
      return { state: "missing", message: "the agent is not logged in; run `codex login` as the daemon's user" };
    }
    return { state: "ok", message: needed ? "logged in" : "the model provider needs no login" };
  } catch (error) {
    return { state: "unknown", message: unknownBecause(error) };
  }
}

/** Without a working sandbox every command fails quietly while turns complete (measured in containers). */
async function checkSandbox(channel: Channel, { settings, cwd }: CheckRequest): Promise<AgentCheck["sandbox"]> {
  const sandboxPolicy = turnSandboxPolicy(settings, cwd);
  if (isUnsandboxed(sandboxPolicy)) {
    return { state: "ok", message: "commands run without a sandbox of the agent" };
  }
  try {
    const params = { command: ["true"], cwd, sandboxPolicy, timeoutMs: PROBE_TIMEOUT_MS };
    const reply = await channel.request("command/exec", params, PROBE_TIMEOUT_MS + settings.codex.readTimeoutMs);
    const exitCode = numberAt(reply, "exitCode");
    if (exitCode === null) return { state: "unknown", message: "the agent didn't say how the command ended" };
    if (exitCode === 0) return { state: "ok", message: "a sandboxed command runs" };
    return { state: "broken", message: brokenBecause(stringAt(reply, "stderr") ?? "", exitCode) };
  } catch (error) {
    return { state: "unknown", message: unknownBecause(error) };
  }
}

/**
 * With `never`, a sandboxed agent's MCP calls that could change something are refused without asking anybody, and only the model
 * is told (measured). Without a sandbox they are approved.
 */
async function checkMcpServers(channel: Channel, { settings, cwd }: CheckRequest): Promise<readonly string[]> {
  const isSilent = approvalPolicy(settings) === "never" && !isUnsandboxed(turnSandboxPolicy(settings, cwd));
  if (!isSilent) return [];
  try {
    const reply = await channel.request("config/read", { cwd }, settings.codex.readTimeoutMs);
    const servers = Object.entries(objectAt(objectAt(reply, "config"), "mcp_servers") ?? {});
    const names = servers.filter(([, server]) => booleanAt(server, "enabled") !== false).map(([name]) => name);
    if (names.length === 0) return [];
    return [
      `with codex.approval_policy never, calls of MCP tools that change something are refused silently (${bounded(names.join(", "), MESSAGE_CHARS)}); ` +
        "to let them through, set {granular: {sandbox_approval: false, rules: false, mcp_elicitations: true}} and approvals.elicitations",
    ];
  } catch {
    // An older agent doesn't know the question; there is nothing to warn of that could be named.
    return [];
  }
}

function isUnsandboxed(sandboxPolicy: unknown): boolean {
  return UNSANDBOXED.has(stringAt(sandboxPolicy, "type") ?? "");
}

function brokenBecause(stderr: string, exitCode: number): string {
  const words = bounded(stderr.trim(), MESSAGE_CHARS);
  const mend =
    "allow user namespaces for the daemon (in a container: a seccomp profile that permits them), " +
    "or, where the container itself is the sandbox, set codex.turn_sandbox_policy to {type: externalSandbox, networkAccess: restricted}";
  return `sandboxed commands can't run here (status ${exitCode}${words === "" ? "" : `: ${words}`}); ${mend}`;
}

function unknownBecause(error: unknown): string {
  const reason = bounded(errorMessage(error), MESSAGE_CHARS);
  return error instanceof RpcError ? `the agent can't be asked: ${reason}` : reason;
}
