/** A log file that starts anew at a size, and keeps some of its past. */
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { LineTarget } from "./line-writer.ts";

export interface LogFile {
  readonly path: string;
  /** The size at which a new file is begun. */
  readonly maxBytes: number;
  /** How many old files stay, as `<path>.1` (the newest) and so on; 0 = none. */
  readonly keep: number;
}

/** Only the user that runs us may read what tickets and agents said. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Appends to the file; makes it and its folder when they are missing. Throws when that can't be done. */
export function openRotatingFile(file: LogFile): LineTarget {
  mkdirSync(dirname(file.path), { recursive: true, mode: FOLDER_MODE });
  const open = (): number => openSync(file.path, "a", FILE_MODE);
  let descriptor = open();
  let size = fstatSync(descriptor).size;
  let closed = false;

  function close(): void {
    if (!closed) closeSync(descriptor);
    closed = true;
  }

  function startAnew(): void {
    close();
    shiftOldFiles(file);
    descriptor = open();
    closed = false;
    size = fstatSync(descriptor).size;
  }

  return {
    descriptor(bytes) {
      // `closed`: an earlier attempt got as far as closing the old file.
      if (closed || (size > 0 && size + bytes > file.maxBytes)) startAnew();
      size += bytes;
      return descriptor;
    },
    close,
  };
}

/** `path` becomes `path.1`, that one `path.2` and so on; what is beyond `keep` goes. */
function shiftOldFiles({ path, keep }: LogFile): void {
  const older = (age: number): string => (age === 0 ? path : `${path}.${age}`);
  rmSync(older(keep), { force: true });
  for (let age = keep - 1; age >= 0; age -= 1) if (existsSync(older(age))) renameSync(older(age), older(age + 1));
}
