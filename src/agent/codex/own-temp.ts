/** A temporary folder of a session's own, where the workspaces lie in one that codex lets every agent write (measured on 0.171.0). */
import { mkdir, realpath, rm } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Settings } from "../../domain/settings.ts";
import { usesOwnTurnPolicy } from "./policy.ts";

/** What codex calls SlashTmp. */
const SLASH_TMP = "/tmp";
/** Beside the workspaces, in the folder of the daemon's own records: no workspace can have its name. */
const PLACE = [".symphony", "tmp"] as const;

/**
 * The folder's path, made empty; null where the policy that we send leaves nobody else's workspace writable. Lying beside the
 * workspaces, it is writable to the one session whose policy names it.
 */
export async function makeOwnTemp(
  settings: Settings,
  workspacePath: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  if (!usesOwnTurnPolicy(settings)) return null;
  const shared = [SLASH_TMP, settings.codex.env["TMPDIR"] ?? env["TMPDIR"] ?? SLASH_TMP];
  if (!(await liesInAny(workspacePath, shared))) return null;
  const path = join(dirname(workspacePath), ...PLACE, basename(workspacePath));
  await removeOwnTemp(path);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Never rejects: what an agent made unremovable stays, and is tried again by the ticket's next session. */
export async function removeOwnTemp(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

async function liesInAny(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await resolved(path);
  const places = await Promise.all(folders.map(resolved));
  return places.some((place) => {
    const way = relative(place, real);
    return way !== ".." && !way.startsWith(`..${sep}`);
  });
}

/** A folder that isn't there holds nothing, whatever its name stands for. */
function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
