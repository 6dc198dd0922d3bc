/** Where things lie in a state directory, and making one. */
import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError, errorMessage } from "../domain/errors.ts";

/** Absolute paths below one state directory (contract.md, Files). */
export interface StateFiles {
  readonly dir: string;
  readonly ledger: string;
  /** Held by the one daemon that may use the directory. */
  readonly lock: string;
  /** Unix socket of the command line. */
  readonly socket: string;
  /** Secret for state-changing HTTP requests. */
  readonly token: string;
  /** Work that was saved from removed workspaces. */
  readonly salvage: string;
  /** Pictures of descriptions, in a folder for each run that goes on. */
  readonly pictures: string;
}

/** The paths; nothing is touched. */
export function stateFiles(dir: string): StateFiles {
  return {
    dir,
    ledger: join(dir, "ledger.db"),
    lock: join(dir, "daemon.lock"),
    socket: join(dir, "control.sock"),
    token: join(dir, "token"),
    salvage: join(dir, "salvage"),
    pictures: join(dir, "pictures"),
  };
}

/** Makes the directory (0700, parents too) if it isn't there. Throws `state_dir_unusable` when it can't hold our files. */
export function makeStateDirectory(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (!statSync(dir).isDirectory()) throw new Error("not a directory");
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new AppError(
      "state_dir_unusable",
      `the state directory ${dir} can't be used: ${errorMessage(error)}; choose another with --state-dir or state.dir`,
      { dir },
      { cause: error },
    );
  }
}
