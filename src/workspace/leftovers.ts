/** Directories in the root that may be workspaces nobody knows any more: made by an earlier tool, or by a ledger's lost past. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceRecord } from "../domain/claim.ts";
import type { Issue } from "../domain/issue.ts";
import { isMissing } from "./containment.ts";
import { workspaceKey } from "./key.ts";
import { readOwner, writeOwner } from "./owner-file.ts";

export interface LeftoverScope {
  readonly root: string;
  /** Identity of this daemon's ledger. */
  readonly ledgerId: string;
  /** Paths that the scheduler knows. */
  readonly known: ReadonlySet<string>;
}

/** Names of real directories in the root that are nobody else's and that the scheduler doesn't know. Links are no workspaces. */
export async function findLeftovers({ root, ledgerId, known }: LeftoverScope): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const entry of await listRoot(root)) {
    const path = join(root, entry.name);
    if (!entry.isDirectory() || entry.name.startsWith(".") || known.has(path)) continue;
    const owner = await readOwner(path).catch(() => "unreadable" as const);
    if (owner === "unreadable" || (owner !== null && owner.ledgerId !== ledgerId)) continue;
    names.add(entry.name);
  }
  return names;
}

async function listRoot(root: string): Promise<{ readonly name: string; isDirectory(): boolean }[]> {
  try {
    return await readdir(root, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Takes the leftover that is this issue's by its key, so that it can be cleaned like any other; null when there is none. */
export async function adoptLeftover(
  issue: Issue,
  leftovers: ReadonlySet<string>,
  { root, ledgerId, now }: { readonly root: string; readonly ledgerId: string; readonly now: number },
): Promise<WorkspaceRecord | null> {
  const key = workspaceKey(issue.identifier);
  if (!leftovers.has(key)) return null;
  const path = join(root, key);
  const owner = await readOwner(path);
  if (owner !== null && owner.issueId !== issue.id) return null;
  const { id: issueId, identifier } = issue;
  await writeOwner({
    ledgerId,
    issueId,
    identifier,
    state: owner?.state ?? "ready",
    path,
    createdAt: owner?.createdAt ?? now,
  });
  return { issueId, identifier, path, host: "local", createdAt: owner?.createdAt ?? now };
}
