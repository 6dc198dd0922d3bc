/** Pictures beside the tickets: files inside the board's folder, named by a relative path. */
import { realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { AppError, errorMessage } from "../../domain/errors.ts";
import type { FetchImageOptions } from "../port.ts";
import { openPlainFile } from "./atomic-file.ts";

/** `https:`, `data:`, and every other address that is no path. */
const SCHEME = /^[a-z][a-z0-9+.-]*:|^\/\//i;

/** The bytes; null for an address or an absolute path. Throws tracker_request where the file is elsewhere, too large or can't be read. */
export async function readBoardPicture(
  board: string,
  reference: string,
  { maxBytes }: FetchImageOptions,
): Promise<Uint8Array | null> {
  if (SCHEME.test(reference) || isAbsolute(reference)) return null;
  try {
    const root = await realpath(board);
    // Links are resolved first: one that leads out of the folder is refused as a path that does.
    const path = await realpath(join(root, decoded(reference)));
    const inside = relative(root, path);
    if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
      throw new Error("it is not inside the board's folder");
    }
    await using file = await openPlainFile(path);
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error("it is not a file");
    const { size } = stats;
    if (size > maxBytes) throw new Error(`it has more bytes than codex.images.max_bytes (${maxBytes}) allows`);
    return await file.readFile();
  } catch (error) {
    throw new AppError("tracker_request", errorMessage(error), { reference }, { cause: error });
  }
}

/** Markdown writes a blank as %20; a stray percent sign is one. */
function decoded(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}
