/** How a workspace goes: its work is kept first, then before_remove runs, then the directory is deleted. */
import { dirname } from "node:path";
import type { WorkspaceRecord } from "../domain/claim.ts";
import { isAppError } from "../domain/errors.ts";
import type { Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";
import type { Host } from "../host/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { inspectWorkspace, refuseRoot } from "./containment.ts";
import type { Environment } from "../host/environment.ts";
import { runHook } from "./hooks.ts";
import { issueFields } from "./log-fields.ts";
import { isOwnedBy, readOwner, removeOwner, writeOwner, type Owner } from "./owner-file.ts";
import { removeTree } from "./removal.ts";
import { salvageWork } from "./salvage.ts";

export interface RemoveRequest {
  /** Says where the workspace was made; a root that has changed since never redirects the removal. */
  readonly record: WorkspaceRecord;
  readonly issue: Issue;
  readonly settings: Settings;
  /** Ends before_remove, and keeps the workspace, when it aborts before the deletion has begun. */
  readonly signal: AbortSignal;
}

/** `kept`: it isn't ours, or the settings say so. `missing`: there was nothing. */
export type Removal = "removed" | "kept" | "missing";

export interface RemoveDeps {
  readonly host: Host;
  readonly ledgerId: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly baseEnv: Environment;
  readonly salvageDir: string;
  /** To find git by. */
  readonly searchPath: string;
}

/** See `Workspaces.remove` for what it throws. The caller sees to it that nobody else is at work on the path. */
export async function removeWorkspace(request: RemoveRequest, deps: RemoveDeps): Promise<Removal> {
  const { record, issue, settings } = request;
  const { path } = record;
  if (settings.workspace.onTerminal === "keep") return "kept";
  const owner = await readOwner(path);
  const isOurs = owner !== null && isOwnedBy(owner, deps.ledgerId, record.issueId);
  if ((await inspectForRemoval(path, settings)) === "nothing") {
    if (isOurs) await removeOwner(path);
    return "missing";
  }
  if (!isOurs) {
    deps.log.warn({ ...issueFields(issue), path, owner }, "workspace is not ours and is kept");
    return "kept";
  }
  if (owner.state === "ready") {
    await salvage(request, deps);
    await beforeRemove(request, deps);
  }
  if ((await inspectForRemoval(path, settings)) === "directory") await deleteTree(owner);
  await removeOwner(path);
  return "removed";
}

/** Before the hook, which may take the work away. */
async function salvage({ record, issue, signal }: RemoveRequest, deps: RemoveDeps): Promise<void> {
  const { clock, log, salvageDir, searchPath } = deps;
  await salvageWork({ path: record.path, issue, signal }, { dir: salvageDir, clock, log, searchPath });
}

/** Its failure is logged and ignored (section 9.4), so that it can't keep a workspace for ever. */
async function beforeRemove({ record, issue, settings, signal }: RemoveRequest, deps: RemoveDeps): Promise<void> {
  const { path, issueId } = record;
  const request = { issue, attempt: null, settings, path, runMarker: `remove-${issueId}`, signal };
  try {
    await runHook("before_remove", request, deps);
  } catch (error) {
    signal.throwIfAborted();
    deps.log.warn({ ...issueFields(issue), path, err: error }, "before_remove hook failed");
  }
}

/** A deletion that is cut off leaves a directory that counts as half-made. */
async function deleteTree(owner: Owner): Promise<void> {
  await writeOwner({ ...owner, state: "creating" });
  await removeTree(owner.path);
}

/** A root that is gone has taken its workspaces with it. */
async function inspectForRemoval(path: string, settings: Settings): Promise<"directory" | "nothing"> {
  refuseRoot(path, settings.workspace.root);
  try {
    return await inspectWorkspace(path, dirname(path));
  } catch (error) {
    if (isAppError(error) && error.data["reason"] === "root_missing") return "nothing";
    throw error;
  }
}
