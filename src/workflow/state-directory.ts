/** Where one workflow's daemon keeps its ledger, lock, socket and token (design: one state directory per workflow file). */
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, extname, isAbsolute, join, resolve } from "node:path";

import { peekFrontMatter } from "./front-matter-peek.ts";
import { expandPath, homeDirOf } from "./paths.ts";
import { resolveReference, type Environment } from "./references.ts";

/** Whose state directory is wanted. Settings will do. */
export interface StateOwner {
  readonly workflowPath: string;
  readonly state: { readonly dir: string | null };
}

export interface StateDirectoryOptions {
  /** `--state-dir`, relative to the current directory; null when it wasn't given. */
  readonly flag: string | null;
  readonly env: Environment;
}

const NAME_CHARS = 40;
const HASH_DIGITS = 12;

/**
 * The absolute path, which need not exist: `--state-dir`, else `state.dir`, else `$STATE_DIRECTORY` (systemd's), else
 * `symphony/<key>` under `$XDG_STATE_HOME`, else under `~/.local/state`. Relative variables count as unset, as XDG wants it.
 */
export function stateDirectory(owner: StateOwner, { flag, env }: StateDirectoryOptions): string {
  if (flag !== null) return resolve(flag);
  if (owner.state.dir !== null) return owner.state.dir;
  // systemd separates several directories with colons; the first is the service's own.
  const given = absolute(env["STATE_DIRECTORY"]?.split(":")[0]);
  if (given !== null) return given;
  const home = absolute(env["XDG_STATE_HOME"]) ?? join(homeDirOf(env), ".local", "state");
  return join(home, "symphony", workflowKey(owner.workflowPath));
}

function absolute(path: string | undefined): string | null {
  return path !== undefined && isAbsolute(path) ? resolve(path) : null;
}

/**
 * Tells workflows apart and can be read by a person: the folder's name and the file's, if that is not WORKFLOW.md, with a hash of the
 * whole path. Links in the folder's path are resolved, so that two ways to one file are one key; the file itself may be a link
 * that changes.
 */
export function workflowKey(workflowPath: string): string {
  const path = resolve(workflowPath);
  const folder = realFolder(dirname(path));
  const stem = basename(path, extname(path));
  const name = stem.toLowerCase() === "workflow" ? basename(folder) : `${basename(folder)}-${stem}`;
  const readable = name.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, NAME_CHARS);
  const hash = createHash("sha256")
    .update(join(folder, basename(path)))
    .digest("hex")
    .slice(0, HASH_DIGITS);
  return readable === "" ? hash : `${readable}-${hash}`;
}

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    // A folder that isn't there has no links either; the key must still be had, to say where nothing was found.
    return folder;
  }
}

/**
 * The state directory for commands that only look: `state.dir` is read from the file without validating the rest, so that a report
 * needs neither a tracker key nor a workflow that is in order. A file that can't be read counts as one without `state.dir`.
 */
export function findStateDirectory(workflowPath: string, options: StateDirectoryOptions): string {
  const path = resolve(workflowPath);
  return stateDirectory({ workflowPath: path, state: { dir: peekStateDir(path, options.env) } }, options);
}

function peekStateDir(path: string, env: Environment): string | null {
  const state = peekFrontMatter(path)["state"];
  const written: unknown = typeof state === "object" && state !== null && "dir" in state ? state.dir : null;
  const dir = resolveReference(written, env);
  if (typeof dir !== "string" || dir.trim() === "") return null;
  const expanded = expandPath(dir, { env, homeDir: homeDirOf(env), baseDir: dirname(path) });
  return "path" in expanded ? expanded.path : null;
}
