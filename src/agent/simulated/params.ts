/** Reads request parameters and refuses bad ones in the real server's words (measured on app-server 0.171.0). */
import { isRecord, type RpcFailure } from "./wire.ts";

export type Params = Readonly<Record<string, unknown>>;

/** Becomes the `error` of a response. Nearly everything is -32600 in the real server. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly failure: RpcFailure;

  constructor(message: string, code = -32600, data?: unknown) {
    super(message);
    this.failure = data === undefined ? { code, message } : { code, message, data };
  }
}

function invalid(detail: string): RpcError {
  return new RpcError(`Invalid request: ${detail}`);
}

/** The params object of a request. */
export function readParams(params: unknown): Params {
  if (params === undefined) throw invalid("missing field `params`");
  if (!isRecord(params)) throw invalid("invalid type, expected a map");
  return params;
}

/** A string field that must be there. */
export function requiredText(params: Params, key: string): string {
  const value = params[key];
  if (value === undefined) throw invalid(`missing field \`${key}\``);
  if (typeof value !== "string") throw invalid(`invalid type: ${describe(value)}, expected a string`);
  return value;
}

/** A string field; null when it is absent or null. */
export function optionalText(params: Params, key: string): string | null {
  const value = params[key];
  return value === undefined || value === null ? null : requiredText(params, key);
}

function describe(value: unknown): string {
  if (typeof value === "number") return `integer \`${value}\``;
  if (typeof value === "boolean") return `boolean \`${value}\``;
  if (value === null) return "null";
  return Array.isArray(value) ? "sequence" : "map";
}

function variant(value: string, known: readonly string[]): RpcError {
  const list = known.map((name) => `\`${name}\``).join(", ");
  return invalid(`unknown variant \`${value}\`, expected one of ${list}`);
}

const APPROVAL_POLICIES = ["untrusted", "on-request", "granular", "never"] as const;
const SANDBOX_MODES = ["read-only", "workspace-write", "danger-full-access"] as const;
const SANDBOX_POLICIES = ["dangerFullAccess", "readOnly", "externalSandbox", "workspaceWrite"] as const;
const INPUT_KINDS = ["text", "image", "localImage", "audio", "localAudio", "skill", "mention"] as const;
/** Characters of text in one turn; more is -32602. */
const MAX_INPUT_CHARS = 1_048_576;

/** `approvalPolicy`: a name, or `{granular: {...}}`; null when absent. */
export function readApprovalPolicy(params: Params): unknown {
  const value = params["approvalPolicy"];
  if (value === undefined || value === null) return null;
  const name = isRecord(value) ? Object.keys(value)[0] : value;
  const shown = typeof name === "string" ? name : describe(name);
  if (!APPROVAL_POLICIES.some((known) => known === name)) throw variant(shown, APPROVAL_POLICIES);
  return value;
}

/** A sandbox policy object of turn/start, or what a result shows. */
export type SandboxPolicy = Params;

/** `sandbox` of thread/start and thread/resume as the policy that the result shows; null when absent. */
export function readSandboxMode(params: Params): SandboxPolicy | null {
  const mode = optionalText(params, "sandbox");
  if (mode === null) return null;
  switch (mode) {
    case "read-only":
      return { type: "readOnly", networkAccess: false };
    case "workspace-write":
      return {
        type: "workspaceWrite",
        writableRoots: [],
        networkAccess: false,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: false,
      };
    case "danger-full-access":
      return { type: "dangerFullAccess" };
    default:
      throw variant(mode, SANDBOX_MODES);
  }
}

/** `sandboxPolicy` of turn/start; null when absent. */
export function readSandboxPolicy(params: Params): SandboxPolicy | null {
  const policy = params["sandboxPolicy"];
  if (policy === undefined || policy === null) return null;
  if (!isRecord(policy)) throw invalid(`invalid type: ${describe(policy)}, expected a map`);
  const type = requiredText(policy, "type");
  if (!SANDBOX_POLICIES.some((known) => known === type)) throw variant(type, SANDBOX_POLICIES);
  return policy;
}

/** The text of `input`, one piece per text item; pictures and the like are taken and not looked at. */
export function readInput(params: Params): readonly string[] {
  const input = params["input"];
  if (input === undefined) throw invalid("missing field `input`");
  if (!Array.isArray(input)) throw invalid(`invalid type: ${describe(input)}, expected a sequence`);
  const texts: string[] = [];
  for (const item of input as readonly unknown[]) {
    if (!isRecord(item)) throw invalid(`invalid type: ${describe(item)}, expected a map`);
    const type = requiredText(item, "type");
    if (!INPUT_KINDS.some((known) => known === type)) throw variant(type, INPUT_KINDS);
    if (type === "text") texts.push(requiredText(item, "text"));
  }
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_INPUT_CHARS) {
    const data = { input_error_code: "input_too_large", max_chars: MAX_INPUT_CHARS, actual_chars: length };
    throw new RpcError(`Input exceeds the maximum length of ${MAX_INPUT_CHARS} characters.`, -32602, data);
  }
  return texts;
}

const SET = "shell_environment_policy.set.";

/** The variables that `config` sets for a thread's commands, by its dotted keys. */
export function readCommandVariables(params: Params): Readonly<Record<string, string>> {
  const { config } = params;
  const entries = isRecord(config) ? Object.entries(config) : [];
  return Object.fromEntries(
    entries.filter(([key]) => key.startsWith(SET)).map(([key, value]) => [key.slice(SET.length), String(value)]),
  );
}

/** The names of `dynamicTools`, checked as the real server checks them. */
export function readToolNames(params: Params, experimental: boolean): readonly string[] {
  const tools = params["dynamicTools"];
  if (tools === undefined || tools === null) return [];
  if (!experimental) throw new RpcError("thread/start.dynamicTools requires experimentalApi capability");
  if (!Array.isArray(tools)) throw invalid(`invalid type: ${describe(tools)}, expected a sequence`);
  const names = new Set<string>();
  for (const tool of tools as readonly unknown[]) {
    if (!isRecord(tool)) throw invalid(`invalid type: ${describe(tool)}, expected a map`);
    const name = requiredText(tool, "name");
    if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
      throw new RpcError(`dynamic tool name must match ^[a-zA-Z0-9_-]+$ to match Responses API: ${name}`);
    }
    if (names.has(name)) throw new RpcError(`duplicate dynamic tool name: ${name}`);
    if (!isRecord(tool["inputSchema"])) {
      throw new RpcError(`dynamic tool input schema is not supported for ${name}: expected struct JsonSchema`);
    }
    names.add(name);
  }
  return [...names];
}
