/** A write to a file of the workspace: planned first, so that a person can be asked about it, then applied. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { TurnFailure } from "./turn.ts";

export interface WriteRequest {
  /** The thread's directory; nothing is written outside it. */
  readonly cwd: string;
  readonly path: string;
  readonly content: string;
  readonly append: boolean;
}

export interface PlannedWrite {
  /** One entry of a fileChange item's `changes`. */
  readonly view: { readonly path: string; readonly kind: { readonly type: "add" | "update" }; readonly diff: string };
  apply(): Promise<void>;
}

/** What a write would change. Throws TurnFailure for a path outside the directory. */
export async function planWrite({ cwd, path, content, append }: WriteRequest): Promise<PlannedWrite> {
  const target = resolve(cwd, path);
  const inside = relative(cwd, target);
  if (inside === "" || inside.startsWith("..") || isAbsolute(inside)) {
    throw new TurnFailure(`write_file: ${path} is outside the thread's directory ${cwd}`, "other");
  }
  const before = await readFile(target, "utf8").catch(() => null);
  const after = append ? (before ?? "") + content : content;
  return {
    view: { path: target, kind: { type: before === null ? "add" : "update" }, diff: diffText(before, after) },
    apply: async () => {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, after);
    },
  };
}

/** The whole file when it is new, as the real server shows it; else everything out and everything in. */
function diffText(before: string | null, after: string): string {
  if (before === null) return after;
  const removed = before.split("\n").map((line) => `-${line}`);
  const added = after.split("\n").map((line) => `+${line}`);
  return [...removed, ...added].join("\n");
}
