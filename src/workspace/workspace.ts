/** Makes, checks and removes the directories in which agents work: one per issue, in the root, and nobody else's. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

import type { WorkspaceRecord } from "../domain/claim.ts";
import type { Issue } from "../domain/issue.ts";
import type { Fingerprint } from "../domain/outcome.ts";
import type { Settings } from "../domain/settings.ts";
import type { Host } from "../host/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import {
  ensureRoot,
  inspectWorkspace,
  lookAt,
  pathInRoot,
  PRIVATE_DIRECTORY,
  requireWorkspace,
} from "./containment.ts";
import type { Environment } from "../host/environment.ts";
import { readFingerprint } from "./fingerprint.ts";
import { runHook, type HookRequest } from "./hooks.ts";
import { workspaceKey } from "./key.ts";
import { issueFields } from "./log-fields.ts";
import {
  findCaseVariant,
  foreignWorkspace,
  isOwnedBy,
  keyTaken,
  readOwner,
  removeOwner,
  writeOwner,
  type Owner,
} from "./owner-file.ts";
import { removeTree } from "./removal.ts";
import { removeWorkspace, type Removal, type RemoveRequest } from "./remove-workspace.ts";

export interface WorkspacesDeps {
  readonly host: Host;
  /** Identity of this daemon's ledger; a workspace of another one is never touched. */
  readonly ledgerId: string;
  readonly log: Log;
  readonly clock: Clock;
  /** The daemon's environment; hooks get it without the tracker's secrets. */
  readonly baseEnv: Environment;
  /** Where the work of removed workspaces is kept. */
  readonly salvageDir: string;
}

export interface PrepareRequest {
  readonly issue: Issue;
  readonly attempt: number | null;
  readonly settings: Settings;
  /** The workspace that this issue id already has; a renamed identifier keeps it. */
  readonly bound: WorkspaceRecord | null;
  /** Whether another issue of this ledger has that path, compared without letter case. */
  isTaken(path: string): boolean;
  /** Ends after_create and drops the half-made directory when it aborts. */
  readonly signal: AbortSignal;
  readonly runMarker: string;
}

export interface PreparedWorkspace {
  readonly record: WorkspaceRecord;
  /** True when the directory was made now, and after_create ran. */
  readonly created: boolean;
}

export interface Workspaces {
  /** Makes the root if need be. Throws AppError workspace_root_invalid, which names the mend. */
  checkRoot(root: string): Promise<void>;
  /**
   * Makes the issue's directory and runs after_create, or takes the one that is there. Throws AppError workspace_key_invalid,
   * workspace_key_taken, workspace_root_invalid, workspace_not_a_directory, workspace_foreign, invalid_workspace_cwd, hook_failed,
   * hook_timeout, or the signal's reason; a directory that was half made is gone by then.
   */
  prepare(request: PrepareRequest): Promise<PreparedWorkspace>;
  /**
   * Right before the agent starts: still a real directory, directly inside the root or where `record` was made, and still this
   * issue's. Throws AppError invalid_workspace_cwd (with `data.reason`), workspace_not_a_directory or workspace_foreign.
   */
  verify(path: string, root: string, record: WorkspaceRecord): Promise<void>;
  /** Throws AppError hook_failed or hook_timeout; what that means is the caller's to say. */
  runHook(name: "before_run" | "after_run", request: HookRequest): Promise<void>;
  /**
   * Keeps what is uncommitted or unpushed (salvage.ts), then before_remove, then the deletion, where the workspace was made. Throws
   * AppError invalid_workspace_cwd for a link in its place, and workspace_salvage_failed before anything is lost.
   */
  remove(request: RemoveRequest): Promise<Removal>;
  /** See fingerprint.ts. */
  fingerprint(path: string): Promise<Fingerprint>;
}

/** A workspace that is being made or found. */
interface Place {
  readonly path: string;
  readonly root: string;
  readonly request: PrepareRequest;
}

/** The workspaces of one daemon. Holds no files open. */
export function createWorkspaces(deps: WorkspacesDeps): Workspaces {
  return new LocalWorkspaces(deps);
}

class LocalWorkspaces implements Workspaces {
  readonly #deps: WorkspacesDeps;
  /** Lower-cased paths on which somebody is at work right now, and when that ends: two issues whose keys differ by case must not both pass the checks. */
  readonly #busy = new Map<string, Promise<void>>();

  constructor(deps: WorkspacesDeps) {
    this.#deps = deps;
  }

  async checkRoot(root: string): Promise<void> {
    await ensureRoot(root);
  }

  async prepare(request: PrepareRequest): Promise<PreparedWorkspace> {
    request.signal.throwIfAborted();
    const place = await this.#findPlace(request);
    const { path } = place;
    const { issue } = request;
    return this.#alone(path, request.signal, async () => {
      if (request.isTaken(path)) throw keyTaken(path, issue.identifier, "another issue");
      const owner = await this.#ownerFor(place);
      const found = await inspectWorkspace(path, place.root);
      if (found === "nothing") return this.#create(place);
      if (owner?.state !== "creating") return this.#adopt(place, owner);
      this.#deps.log.warn({ ...issueFields(issue), path }, "half-made workspace removed");
      await removeTree(path);
      return this.#create(place);
    });
  }

  async verify(path: string, root: string, record: WorkspaceRecord): Promise<void> {
    const isWhereItWasMade = path === record.path;
    await requireWorkspace(path, isWhereItWasMade ? dirname(path) : root);
    const owner = await readOwner(path);
    if (owner !== null && isOwnedBy(owner, this.#deps.ledgerId, record.issueId)) return;
    throw foreignWorkspace(path, owner);
  }

  async runHook(name: "before_run" | "after_run", request: HookRequest): Promise<void> {
    await runHook(name, request, this.#deps);
  }

  remove(request: RemoveRequest): Promise<Removal> {
    const removing = { ...this.#deps, searchPath: this.#searchPath };
    return this.#alone(request.record.path, request.signal, () => removeWorkspace(request, removing));
  }

  fingerprint(path: string): Promise<Fingerprint> {
    return readFingerprint(path, { clock: this.#deps.clock, searchPath: this.#searchPath });
  }

  /** To find git by. */
  get #searchPath(): string {
    return this.#deps.baseEnv["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  }

  /** A bound workspace stays where it is, whatever became of the identifier or the root, as long as it is there. */
  async #findPlace(request: PrepareRequest): Promise<Place> {
    const { bound, issue, settings } = request;
    const root = await ensureRoot(settings.workspace.root);
    if (bound !== null && bound.host === this.#deps.host.name) {
      const boundRoot = dirname(bound.path);
      if (boundRoot === root) return { path: bound.path, root, request };
      const isThere = await inspectWorkspace(bound.path, boundRoot).catch(() => "nothing" as const);
      if (isThere === "directory") return { path: bound.path, root: boundRoot, request };
    }
    return { path: pathInRoot(root, workspaceKey(issue.identifier)), root, request };
  }

  /** Runs one task per path at a time, in any letter case: who comes meanwhile waits, and then meets what is there. Rejects with the signal's reason. */
  async #alone<T>(path: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    const name = path.toLowerCase();
    for (let before = this.#busy.get(name); before !== undefined; before = this.#busy.get(name)) {
      await waitFor(before, signal);
    }
    const done = Promise.withResolvers<void>();
    this.#busy.set(name, done.promise);
    try {
      return await task();
    } finally {
      this.#busy.delete(name);
      done.resolve();
    }
  }

  /** The owner on record, once it is sure that the issue may have this place. */
  async #ownerFor({ path, request }: Place): Promise<Owner | null> {
    const owner = await readOwner(path);
    if (owner === null) {
      const variant = await findCaseVariant(path);
      if (variant !== null && (await lookAt(variant)) !== null) {
        throw keyTaken(path, request.issue.identifier, `${variant}, which differs in letter case alone`);
      }
      return null;
    }
    if (owner.ledgerId !== this.#deps.ledgerId) throw foreignWorkspace(path, owner);
    if (owner.issueId === request.issue.id) return owner;
    // Nothing is left of what the other issue had there.
    if ((await inspectWorkspace(path, dirname(path))) === "nothing") return null;
    throw keyTaken(path, request.issue.identifier, `issue ${owner.issueId} (${owner.identifier})`);
  }

  async #create(place: Place): Promise<PreparedWorkspace> {
    const { path, root, request } = place;
    const { issue, attempt, settings, signal, runMarker } = request;
    const owner = this.#ownedBy(issue, path, "creating");
    await writeOwner(owner);
    await mkdir(path, { mode: PRIVATE_DIRECTORY });
    try {
      await runHook("after_create", { issue, attempt, settings, path, runMarker, signal }, this.#deps);
      await requireWorkspace(path, root);
      await writeOwner({ ...owner, state: "ready" });
    } catch (error) {
      await this.#drop(path, issue);
      throw error;
    }
    return { record: this.#recordOf(owner), created: true };
  }

  async #adopt({ path, request }: Place, known: Owner | null): Promise<PreparedWorkspace> {
    const { issue } = request;
    const owner = known === null ? this.#ownedBy(issue, path, "ready") : { ...known, identifier: issue.identifier };
    if (known === null) {
      this.#deps.log.info({ ...issueFields(issue), path }, "directory without an owner adopted as workspace");
    }
    if (known?.identifier !== owner.identifier) await writeOwner(owner);
    return { record: this.#recordOf(owner), created: false };
  }

  /** Half-made: the next run makes it anew. If even this fails, the owner file still says so. */
  async #drop(path: string, issue: Issue): Promise<void> {
    try {
      await removeTree(path);
      await removeOwner(path);
    } catch (error) {
      this.#deps.log.warn({ ...issueFields(issue), path, err: error }, "removing a half-made workspace failed");
    }
  }

  #ownedBy(issue: Issue, path: string, state: Owner["state"]): Owner {
    const { ledgerId, clock } = this.#deps;
    return { ledgerId, issueId: issue.id, identifier: issue.identifier, state, path, createdAt: clock.now() };
  }

  #recordOf({ issueId, identifier, path, createdAt }: Owner): WorkspaceRecord {
    return { issueId, identifier, path, host: this.#deps.host.name, createdAt };
  }
}

async function waitFor(before: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([before, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
