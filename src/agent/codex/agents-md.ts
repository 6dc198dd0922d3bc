/** The repository's AGENTS.md, handed over where the app-server won't read it because the repository is not trusted. */
import { open, realpath } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";

/** As much as the app-server reads itself by default. */
const MAX_BYTES = 32 * 1024;
/** The override goes first, as in the app-server itself. */
const NAMES = ["AGENTS.override.md", "AGENTS.md"] as const;

/** Its text with a line that says what it is; null when there is none. */
export async function readAgentsMd(workspacePath: string): Promise<string | null> {
  for (const name of NAMES) {
    const text = await readInside(workspacePath, name);
    if (text !== null && text !== "") return `The repository's own instructions (AGENTS.md):\n\n${text}`;
  }
  return null;
}

/** Null where there is no such file, and where a link leads out of the workspace: what lies there is not the repository's. */
async function readInside(workspacePath: string, name: string): Promise<string | null> {
  try {
    const workspace = await realpath(workspacePath);
    const path = await realpath(join(workspace, name));
    const way = relative(workspace, path);
    if (way.startsWith("..") || isAbsolute(way)) return null;
    await using handle = await open(path);
    if (!(await handle.stat()).isFile()) return null;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    // A character that the cut left half is dropped.
    return new TextDecoder()
      .decode(buffer.subarray(0, bytesRead))
      .replace(/\uFFFD$/, "")
      .trim();
  } catch {
    // None, or none that can be read: the app-server would pass over it as well.
    return null;
  }
}
