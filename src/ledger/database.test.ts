import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { issueId, runId } from "../domain/ids.ts";
import { changeOf, ended, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";

const MIGRATIONS_DIR = join(import.meta.dirname, "..", "..", "migrations");
const MIGRATIONS = readdirSync(MIGRATIONS_DIR).toSorted();
/** Every schema version that a released ledger may have. */
const EARLIER = MIGRATIONS.slice(0, -1).map((_, index) => index + 1);

/** A ledger with some pages in it, closed cleanly, or left open as a killed daemon leaves it. */
async function filledPlace(end: "closed" | "killed"): Promise<LedgerPlace> {
  const place = await makeLedgerPlace();
  const ledger = place.open();
  const runs = Array.from({ length: 200 }, (_, number) => [
    started(`run-${number}`, number),
    ended(`run-${number}`, number + 1),
  ]);
  ledger.commit(changeOf({ facts: runs.flat() }));
  ledger.close();
  if (end === "killed") {
    const hand = new Database(place.path);
    hand.exec("UPDATE daemon SET stopped_at = NULL");
    hand.close();
  }
  return place;
}

function unusable(message: RegExp): unknown {
  return expect.objectContaining({ code: "ledger_unusable", message: expect.stringMatching(message) });
}

describe("opening a ledger", () => {
  test("makes it, with its directories, and leaves no draft", async () => {
    await using place = await makeLedgerPlace();
    writeFileSync(join(place.dir, "keep"), "");
    mkdirSync(dirname(place.path));
    writeFileSync(`${place.path}.new`, "the draft of a start that was killed");
    place.open().close();
    expect(readdirSync(dirname(place.path))).toEqual(["ledger.db"]);
  });

  test("never starts anew where a ledger was: an empty file", async () => {
    await using place = await filledPlace("closed");
    truncateSync(place.path, 0);
    expect(() => place.open()).toThrow(unusable(/is empty: it has been truncated; restore a backup/));
    expect(statSync(place.path).size).toBe(0);
  });

  test("never starts anew where a ledger was: a log without its database", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    writeFileSync(`${place.path}-wal`, "left");
    expect(() => place.open()).toThrow(unusable(/is gone, but its -wal is still there/));
    expect(existsSync(place.path)).toBe(false);
  });

  test("refuses a file that is cut off", async () => {
    await using place = await filledPlace("killed");
    truncateSync(place.path, Math.floor(statSync(place.path).size / 2));
    expect(() => place.open()).toThrow(unusable(/restore a backup/));
  });

  test("finds damage after a daemon that was killed, and says where", async () => {
    await using place = await filledPlace("killed");
    const bytes = readFileSync(place.path);
    bytes.fill(0xff, 4096 * 20, 4096 * 22);
    writeFileSync(place.path, bytes);
    expect(() => place.open()).toThrow(unusable(/is damaged \(|SQLITE_CORRUPT/));
  });

  test("refuses what is no database", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    writeFileSync(place.path, "not a database at all, but long enough to have a header ".repeat(20));
    expect(() => place.open()).toThrow(unusable(/SQLITE_NOTADB/));
    expect(readFileSync(place.path, "utf8")).toMatch(/^not a database/);
  });

  test("refuses the database of something else and leaves it as it is", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    const other = new Database(place.path);
    other.exec("CREATE TABLE theirs (x)");
    other.close();
    const before = readFileSync(place.path);
    expect(() => place.open()).toThrow(unusable(/a database of something else/));
    expect(readFileSync(place.path).equals(before)).toBe(true);
  });

  test("refuses a directory in its place", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(place.path, { recursive: true });
    expect(() => place.open()).toThrow(unusable(/is not a file/));
  });

  test("refuses a ledger that a newer version has written", async () => {
    await using place = await filledPlace("closed");
    const hand = new Database(place.path);
    hand.pragma("user_version = 99");
    hand.close();
    const newer = expect.objectContaining({ code: "ledger_newer", message: expect.stringMatching(/schema 99/) });
    expect(() => place.open()).toThrow(newer);
    expect(() => place.reader()).toThrow(newer);
  });

  test("takes the group's and others' hands off an old file", async () => {
    await using place = await filledPlace("closed");
    chmodSync(place.path, 0o664);
    place.open();
    expect(statSync(place.path).mode & 0o777).toBe(0o600);
  });

  test("names a state directory that can't be made", async () => {
    await using place = await makeLedgerPlace();
    writeFileSync(dirname(place.path), "a file");
    expect(() => place.open()).toThrow(
      expect.objectContaining({ code: "state_dir_unusable", message: expect.stringContaining(dirname(place.path)) }),
    );
  });
});

describe("an older schema", () => {
  test("is backed up and upgraded in one step", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    const old = new Database(place.path);
    old.pragma("application_id = 1400466800");
    old.close();
    expect(() => place.reader()).toThrow(unusable(/older schema 0; start the daemon once/));
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1)] }));
    expect(place.reader().runs()).toHaveLength(1);
    const backup = new Database(`${place.path}.v0.backup`, { readonly: true });
    expect(backup.pragma("user_version", { simple: true })).toBe(0);
    backup.close();
    expect(statSync(`${place.path}.v0.backup`).mode & 0o777).toBe(0o600);
  });

  test.each(EARLIER)("%i is upgraded with everything that is in it", async (version) => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    const old = new Database(place.path);
    old.pragma("application_id = 1400466800");
    for (const name of MIGRATIONS.slice(0, version)) old.exec(readFileSync(join(MIGRATIONS_DIR, name), "utf8"));
    old.pragma(`user_version = ${version}`);
    old.exec(`
      INSERT INTO ledger (one, id, created_at) VALUES (1, 'the-ledger', 1);
      INSERT INTO runs (run_id, issue_id, issue_identifier, started_at, ended_at, outcome, turns)
        VALUES ('run-1', 'id-A-1', 'A-1', 1, 2, 'succeeded', 3);
      INSERT INTO token_usage (run_id, turn, thread_id, day, issue_id, input, cached_input, output, reasoning)
        VALUES ('run-1', 1, 't-1', '2026-01-01', 'id-A-1', 10, 4, 2, 1);`);
    old.close();
    const ledger = place.open();
    expect(ledger.id).toBe("the-ledger");
    expect(place.reader().runs()).toMatchObject([{ issue_identifier: "A-1", turns: 3, tokens: { total: 12 } }]);
    const tokens = { input: 10, cachedInput: 4, output: 2, reasoning: 1 };
    expect(ledger.tokensOfIssue(issueId("id-A-1"))).toEqual([{ model: null, tokens }]);
    expect(existsSync(`${place.path}.v${version}.backup`)).toBe(true);
  });

  test("3 keeps its events and items under their numbers, items that had outlived their event too", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    const old = new Database(place.path);
    old.pragma("application_id = 1400466800");
    for (const name of MIGRATIONS.slice(0, 3)) old.exec(readFileSync(join(MIGRATIONS_DIR, name), "utf8"));
    old.pragma("user_version = 3");
    // What is older than three months goes.
    const at = place.clock.now();
    old.exec(`
      INSERT INTO ledger (one, id, created_at) VALUES (1, 'the-ledger', 1);
      INSERT INTO runs (run_id, issue_id, issue_identifier, started_at) VALUES ('b', 'id-A-1', 'A-1', ${at}), ('a', 'id-A-1', 'A-1', ${at});
      INSERT INTO events (id, run_id, issue_id, at, event, message)
        VALUES (12, 'b', 'id-A-1', ${at}, 'message', 'hello'), (13, 'b', 'id-A-1', ${at}, 'turn_completed', NULL), (14, 'a', 'id-A-1', ${at}, 'plan', 'go');
      INSERT INTO items (id, run_id, issue_id, thread_id, turn_id, item_id, kind, at, data)
        VALUES (11, 'b', 'id-A-1', '', '', 'q', 'question', ${at}, '{"kind":"question","summary":"Which?","subject":null,"deadline_at":null}'),
          (12, 'b', 'id-A-1', 't', 'u', 'm', 'message', ${at}, '{"text":"hello there"}');`);
    old.close();
    const ledger = place.open();
    const reader = place.reader();
    const told = reader
      .events({ issue: "id-A-1" })
      .map(({ sequence, run_id, event, message, item }) => [
        sequence,
        run_id,
        event,
        message,
        item?.kind,
        item?.item_id,
      ]);
    expect(told).toEqual([
      [11, "b", "question_asked", null, "question", "q"],
      [12, "b", "message", "hello", "message", "m"],
      [13, "b", "turn_completed", null, undefined, undefined],
      [14, "a", "plan", "go", undefined, undefined],
    ]);
    expect(reader.questions()).toMatchObject([{ sequence: 11, id: "q", summary: "Which?", run_id: "b" }]);
    const again = { threadId: "t", turnId: "u", itemId: "m", kind: "message", data: { text: "hello there" } } as const;
    const fact = { runId: runId("a"), issueId: issueId("id-A-1"), at, event: "message", message: "hello" };
    ledger.appendEvent({ ...fact, item: again });
    ledger.flush();
    expect(reader.events({ run: "a" }).map(({ sequence }) => sequence)).toEqual([14]);
  });

  test("that can't be upgraded stays as it was", async () => {
    await using place = await makeLedgerPlace();
    mkdirSync(dirname(place.path));
    const old = new Database(place.path);
    old.pragma("application_id = 1400466800");
    old.exec("CREATE TABLE runs (something TEXT)");
    old.close();
    expect(() => place.open()).toThrow(/0001-initial.sql failed/);
    const after = new Database(place.path);
    expect(after.prepare("SELECT name FROM sqlite_schema").pluck().all()).toEqual(["runs"]);
    expect(after.pragma("user_version", { simple: true })).toBe(0);
    after.close();
  });
});

describe("a disk that takes no more", () => {
  test("fails the decision whole, with the mend, and keeps what was committed before", async () => {
    await using place = await makeLedgerPlace();
    place.open().close();
    const writer = join(import.meta.dirname, "..", "..", "test", "fakes", "ledger-writer.ts");
    // A limit on file sizes, in kilobytes, stands in for a full disk: writes beyond it fail.
    const limited = 'trap "" XFSZ; ulimit -f 400; exec "$0" "$@"';
    const result = spawnSync("bash", ["-c", limited, process.execPath, writer, place.path, "1"], { encoding: "utf8" });
    expect(result.stderr).toMatch(/ledger_unusable|AppError/);
    expect(result.stderr).toMatch(/the ledger \S+ failed with SQLITE_(IOERR|FULL)\w* /);
    const last = Number(result.stdout.trimEnd().split("\n").at(-1));
    const ledger = place.open();
    const [claim] = ledger.loadState().claims.values();
    expect(claim).toMatchObject({ kind: "waiting" });
    expect(place.reader().runs().length).toBeGreaterThanOrEqual(last);
    expect(place.reader().damage()).toEqual([]);
    ledger.commit(changeOf({ facts: [started("after", 1)] }));
  });
});
