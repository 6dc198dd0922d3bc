/** What a failing database means to the rest of the daemon. */
import Database from "better-sqlite3";
import { AppError, errorMessage } from "../domain/errors.ts";

/** What to do about it, by SQLite's result code, the full one before the primary one. */
const MENDS: Readonly<Record<string, string>> = {
  SQLITE_BUSY: "another process holds it; stop that one",
  SQLITE_CANTOPEN: "check that the directory exists and is writable",
  SQLITE_CORRUPT: "restore a backup, or move the file away to start with an empty ledger",
  SQLITE_FULL: "free some disk space",
  SQLITE_IOERR: "check the disk, and whether it is full",
  // No room for the file through which the ledger's users share memory.
  SQLITE_IOERR_SHMSIZE: "free some disk space",
  SQLITE_NOTADB: "restore a backup, or move the file away to start with an empty ledger",
  SQLITE_PERM: "check the owner and mode of the file",
  SQLITE_READONLY: "make the file and its directory writable",
};

/** The same by the system's code, for what isn't done by SQLite. */
const SYSTEM_MENDS: Readonly<Record<string, string>> = {
  EDQUOT: "free some of your disk quota",
  ENOSPC: "free some disk space",
  EROFS: "make the file system writable",
};

/** `SQLITE_IOERR_FSYNC` and its kin are kinds of `SQLITE_IOERR`. */
function primaryCode(code: string): string {
  return code.split("_").slice(0, 2).join("_");
}

/** The code and mend of an error that means "this file can't be used now"; null for any other. */
export function diagnose(error: unknown): { readonly code: string; readonly mend: string } | null {
  if (error instanceof Database.SqliteError) {
    const mend = MENDS[error.code] ?? MENDS[primaryCode(error.code)];
    return mend === undefined ? null : { code: error.code, mend };
  }
  const isSystemError = error instanceof Error && "syscall" in error && "code" in error;
  if (!isSystemError) return null;
  const code = String(error.code);
  return { code, mend: SYSTEM_MENDS[code] ?? "check its owner, mode and disk" };
}

/** An error that says what was being done, to which file, and the mend; other errors as they are. */
function ledgerFailure(error: unknown, path: string, doing: string): unknown {
  const diagnosis = diagnose(error);
  if (diagnosis === null) return error;
  return new AppError(
    "ledger_unusable",
    `${doing}: the ledger ${path} failed with ${diagnosis.code} (${errorMessage(error)}); ${diagnosis.mend}`,
    { path, reason: diagnosis.code },
    { cause: error },
  );
}

/** Runs `action`; a database failure in it becomes AppError `ledger_unusable`. */
export function guarded<T>(path: string, doing: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw ledgerFailure(error, path, doing);
  }
}
