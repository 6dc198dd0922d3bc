/** Whose a workspace is, kept beside the workspaces so that it neither dirties a repository nor lies where an agent works. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

import { AppError } from "../domain/errors.ts";
import { issueId, type IssueId } from "../domain/ids.ts";
import { isMissing, lookAt, PRIVATE_DIRECTORY } from "./containment.ts";

/**
 * `creating`: after_create has not been seen to succeed, or a removal has begun; what stands there is half-made.
 * `ready`: made whole, or adopted as it was found.
 */
export type OwnerState = "creating" | "ready";

export interface Owner {
  /** The ledger of the daemon that made or adopted it. */
  readonly ledgerId: string;
  readonly issueId: IssueId;
  readonly identifier: string;
  readonly state: OwnerState;
  readonly path: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

const FOLDER = ".symphony";
const EXTENSION = ".json";
const PRIVATE_FILE = 0o600;

const ownerSchema = z.object({
  ledgerId: z.string(),
  issueId: z.string().transform(issueId),
  identifier: z.string(),
  state: z.enum(["creating", "ready"]),
  path: z.string(),
  createdAt: z.number(),
});

function folderOf(path: string): string {
  return join(dirname(path), FOLDER);
}

/** Where the owner of the workspace at `path` is written down. */
export function ownerFilePath(path: string): string {
  return join(folderOf(path), basename(path) + EXTENSION);
}

/** Null when nobody owns the workspace. Throws AppError workspace_foreign for a file that isn't understood: it isn't ours. */
export async function readOwner(path: string): Promise<Owner | null> {
  const file = ownerFilePath(path);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    return ownerSchema.parse(JSON.parse(text));
  } catch (error) {
    const message = `the owner file ${file} of workspace ${path} is not understood; remove both if nobody needs them`;
    throw new AppError("workspace_foreign", message, { path, file }, { cause: error });
  }
}

async function ensureFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: PRIVATE_DIRECTORY }).catch(() => undefined);
  const stats = await lookAt(folder);
  const us = process.getuid?.();
  if (stats?.isDirectory() === true && (us === undefined || stats.uid === us)) return;
  throw new AppError(
    "workspace_root_invalid",
    `workspace.root: ${JSON.stringify(folder)} must be a directory of our own; move it away, or choose another root`,
    { root: dirname(folder), folder },
  );
}

/** True when this ledger made the workspace, or took it over, for this issue. */
export function isOwnedBy(owner: Owner, ledgerId: string, id: IssueId): boolean {
  return owner.ledgerId === ledgerId && owner.issueId === id;
}

/** Replaces the owner file whole. What says `creating` is on the disk before this returns. */
export async function writeOwner(owner: Owner): Promise<void> {
  const folder = folderOf(owner.path);
  await ensureFolder(folder);
  const temporary = join(folder, `.${basename(owner.path)}.${randomUUID()}`);
  try {
    await using file = await open(temporary, "wx", PRIVATE_FILE);
    await file.writeFile(`${JSON.stringify(owner)}\n`);
    // Lost news of `ready` costs a new start; lost news of `creating` would pass half a workspace for a whole one.
    if (owner.state === "creating") await file.sync();
    await rename(temporary, ownerFilePath(owner.path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Forgets whose the workspace was. */
export async function removeOwner(path: string): Promise<void> {
  await rm(ownerFilePath(path), { force: true });
}

/** The path of a workspace whose name differs from this one's in letter case alone, if there is one. */
export async function findCaseVariant(path: string): Promise<string | null> {
  const wanted = basename(ownerFilePath(path));
  const names = await readdir(folderOf(path)).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const variant = names.find((name) => name !== wanted && name.toLowerCase() === wanted.toLowerCase());
  return variant === undefined ? null : join(dirname(path), variant.slice(0, -EXTENSION.length));
}

/** The workspace is another daemon's, or nobody's that we know. */
export function foreignWorkspace(path: string, owner: Owner | null): AppError {
  const file = ownerFilePath(path);
  const whose = owner === null ? `has lost its owner file ${file}` : `belongs to ledger ${owner.ledgerId} by ${file}`;
  const mend = "give this daemon a workspace.root of its own, or remove both if nobody needs them";
  return new AppError("workspace_foreign", `workspace ${path} ${whose}; ${mend}`, {
    path,
    ledgerId: owner?.ledgerId ?? null,
  });
}

/** Another issue has the directory that `identifier` needs; `owner` says who, in words. */
export function keyTaken(path: string, identifier: string, owner: string): AppError {
  const mend = `rename ${identifier} or end the other, then: symphony retry ${identifier}`;
  const message = `workspace ${path} for ${identifier} is taken by ${owner}; ${mend}`;
  return new AppError("workspace_key_taken", message, { path, identifier });
}
