/** From an older schema, or none, to this version's: numbered files, each applied once, all in one transaction. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { AppError } from "../domain/errors.ts";
import { packageFile } from "../lib/package-file.ts";

/** Beside src/ and dist/ alike: both are two levels above this file. */
const DIRECTORY = packageFile("migrations");

/** One numbered file; its number is the schema version that it leads to. */
interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

let cached: readonly Migration[] | null = null;

/** All migrations in order. Throws when a number is missing or doubled: the package is broken. */
function migrations(): readonly Migration[] {
  cached ??= readdirSync(DIRECTORY)
    .filter((name) => name.endsWith(".sql"))
    .toSorted()
    .map((name, index) => {
      const version = Number.parseInt(name, 10);
      if (version !== index + 1) throw new Error(`migrations: ${name} stands where number ${index + 1} should be`);
      return { version, name, sql: readFileSync(join(DIRECTORY, name), "utf8") };
    });
  return cached;
}

/** The schema version that this program reads and writes. */
export function schemaVersion(): number {
  return migrations().length;
}

/** The version of an open database; 0 = empty. Throws `ledger_newer` when a newer program has written it. */
export function readVersion(db: Database, path: string): number {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > schemaVersion()) {
    throw new AppError(
      "ledger_newer",
      `the ledger ${path} has schema ${version}, this program knows ${schemaVersion()}; use the newer symphony, or another --state-dir`,
      { path, version, known: schemaVersion() },
    );
  }
  return version;
}

/** Applies what is missing. Either all of it is there afterwards, or none. */
export function migrate(db: Database, from: number): void {
  const apply = db.transaction(() => {
    for (const { version, name, sql } of migrations().slice(from)) {
      try {
        db.exec(sql);
      } catch (error) {
        throw new Error(`applying ${name} failed`, { cause: error });
      }
      db.pragma(`user_version = ${version}`);
    }
    const broken = db.pragma("foreign_key_check");
    if (Array.isArray(broken) && broken.length > 0) throw new Error("the migrated ledger has dangling references");
  });
  // Outside of a transaction: a migration may rebuild a table that others refer to.
  db.pragma("foreign_keys = OFF");
  try {
    apply.immediate();
  } finally {
    db.pragma("foreign_keys = ON");
  }
}
