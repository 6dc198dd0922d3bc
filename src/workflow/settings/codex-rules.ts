/** Values of the `codex` section that app-server no longer takes, or that mean less than they seem to (measured on 0.171.0). */
import { isAbsolute, relative } from "node:path";

import type { Secret, Settings } from "../../domain/settings.ts";
import { nearestName } from "../nearest-name.ts";
import { shown, type Problems } from "./problems.ts";

const THREAD_SANDBOXES = ["read-only", "workspace-write", "danger-full-access"] as const;
const TURN_POLICY_TYPES = ["readOnly", "workspaceWrite", "dangerFullAccess", "externalSandbox"] as const;
/** What the daemon sends when the file has no `codex.approval_policy`. */
const DEFAULT_APPROVAL_POLICY = "never";

type Map = Readonly<Record<string, unknown>>;

function asMap(value: unknown): Map | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Map) : null;
}

/** `reject: {x: true}` refused what `granular: {x: false}` doesn't ask for: the same switches, turned round. */
function granularFor(reject: unknown): Map {
  const switches = asMap(reject) ?? {};
  const names = ["sandbox_approval", "rules", "mcp_elicitations"];
  return { granular: Object.fromEntries(names.map((name) => [name, switches[name] === false])) };
}

function checkApprovalPolicy(value: unknown, problems: Problems): void {
  const key = ["codex", "approval_policy"];
  const map = asMap(value);
  if (map !== null && Object.hasOwn(map, "reject")) {
    const modern = JSON.stringify(granularFor(map["reject"]))
      .replaceAll('"', "")
      .replaceAll(/([:,])/g, "$1 ");
    problems.error(
      key,
      `${shown(value)} is no longer accepted by app-server; write ${modern}, which means the same, or never`,
    );
  } else if (value === "on-failure") {
    problems.error(
      key,
      '"on-failure" is no longer accepted by app-server; write on-request, or never to be asked nothing',
    );
  } else if (value !== null && typeof value !== "string" && map === null) {
    problems.error(
      key,
      `${shown(value)} is neither a name nor a map; write never, on-request, untrusted or {granular: {...}}`,
    );
  }
}

function checkThreadSandbox(value: string | null, problems: Problems): void {
  if (value === null || THREAD_SANDBOXES.some((name) => name === value)) return;
  const near = nearestName(value, THREAD_SANDBOXES);
  const key = ["codex", "thread_sandbox"];
  if (near !== null) problems.error(key, `${shown(value)} is not what app-server calls it; write ${near}`);
  else problems.warn(key, `${shown(value)} is passed through; app-server 0.171.0 knows ${THREAD_SANDBOXES.join(", ")}`);
}

function checkTurnSandboxPolicy(value: unknown, root: string, problems: Problems): void {
  if (value === null) return;
  const key = ["codex", "turn_sandbox_policy"];
  const type = asMap(value)?.["type"];
  if (typeof type !== "string") {
    problems.error(
      key,
      `${shown(value)} is not a map with a type; write it such as {type: workspaceWrite, writableRoots: [...]}`,
    );
    return;
  }
  const near = nearestName(type, TURN_POLICY_TYPES);
  if (near !== null && near !== type) {
    problems.error([...key, "type"], `${shown(type)} is not what app-server calls it here; write ${near}`);
  } else if (type === "workspaceWrite" && !coversWorkspaces(asMap(value)?.["writableRoots"], root)) {
    const text =
      "is sent unchanged: neither the ticket's workspace nor its git directories join writableRoots, so the agent may be unable " +
      "to write or to commit; leave the key out to have them added, or list workspace.root";
    problems.warn(key, text);
  }
}

/** Whether one of the writable roots is, or holds, the folder of all workspaces. */
function coversWorkspaces(roots: unknown, workspaceRoot: string): boolean {
  const paths = Array.isArray(roots) ? roots.filter((path) => typeof path === "string") : [];
  return paths.some((path) => {
    const way = relative(path, workspaceRoot);
    return isAbsolute(path) && way !== ".." && !way.startsWith("../");
  });
}

function checkApprovals({ approvals, codex }: Settings, problems: Problems): void {
  const policy = codex.approvalPolicy ?? DEFAULT_APPROVAL_POLICY;
  if (policy !== "never") return;
  const settled = {
    commands: approvals.commands,
    file_changes: approvals.fileChanges,
    permissions: approvals.permissions,
    elicitations: approvals.elicitations,
  };
  for (const [key, value] of Object.entries(settled)) {
    if (value !== "ask") continue;
    const text = "ask has no effect while codex.approval_policy is never: the agent asks nothing; set it to on-request";
    problems.warn(["approvals", key], text);
  }
}

/** A child's environment must not hold what the daemon keeps from it, whatever name it comes by. */
function checkEnvironment({ codex }: Settings, secrets: readonly Secret[], problems: Problems): void {
  for (const [name, value] of Object.entries(codex.env)) {
    const isSecret = secrets.some((secret) => secret.value === value || secret.envNames.includes(name));
    if (!isSecret) continue;
    const text =
      "would hand the daemon's own secret to the agent, which never gets it; remove the entry (the tracker's tools work without)";
    problems.error(["codex", "env", name], text);
  }
}

/** Every rule of the section that needs more than one value. */
export function checkCodex(settings: Settings, problems: Problems): void {
  checkApprovalPolicy(settings.codex.approvalPolicy, problems);
  checkThreadSandbox(settings.codex.threadSandbox, problems);
  checkTurnSandboxPolicy(settings.codex.turnSandboxPolicy, settings.workspace.root, problems);
  checkApprovals(settings, problems);
  checkEnvironment(settings, settings.secrets, problems);
}
