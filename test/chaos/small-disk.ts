/** A disk of a few megabytes for the state directory, to be filled to the last byte. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../../src/domain/errors.ts";

/** Room for a round's ledger and its log of writes. */
const SIZE = "12m";
const FILLER_CHUNK = Buffer.alloc(4096, "x");

/** A mounted disk. */
export interface SmallDisk {
  /** Takes all space that is left; more than once is fine. */
  fill(): void;
  free(): void;
  unmount(): void;
}

/** Mounts a tmpfs at `path`, which is made; answers in words why that can't be done here. */
export function mountSmallDisk(path: string): SmallDisk | string {
  mkdirSync(path, { mode: 0o700 });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=0700`, "chaos", path], { stdio: "pipe" });
  } catch (error) {
    return `a tmpfs can't be mounted here (${errorMessage(error).trim().split("\n").at(-1) ?? ""})`;
  }
  const filler = join(path, "filler");
  return {
    fill: () => fillFile(filler),
    free: () => rmSync(filler, { force: true }),
    // Lazily: whoever still has a file open there is found by the round's checks, not by this.
    unmount: () => void execFileSync("umount", ["-l", path]),
  };
}

function fillFile(path: string): void {
  const fd = openSync(path, "a");
  try {
    for (;;) writeSync(fd, FILLER_CHUNK);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    closeSync(fd);
  }
}
