/** The terminal form of log lines, as people see it. */
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { prettyLine } from "./pretty-line.ts";

/** Local time, whatever the zone of the machine. */
const TIME = new Date(2026, 0, 2, 9, 30, 5).toISOString();

test("a record is one line: time, level, message, fields", () => {
  const record = {
    level: "warn",
    time: TIME,
    issue_identifier: "ENG-7",
    turn: 2,
    why: "no sign of life",
    msg: "run stalled",
  };
  expect(prettyLine(record, false)).toBe(
    '09:30:05 WARN  run stalled issue_identifier=ENG-7 turn=2 why="no sign of life"',
  );
});

test("an error is its type and message, other data is JSON", () => {
  const err = { type: "AppError", message: "no\nluck", stack: "AppError: no luck\n    at x.ts:1", code: "x" };
  const record = { level: "error", time: TIME, err, counts: { a: 1 }, none: null, msg: "effect failed" };
  expect(prettyLine(record, false)).toBe(
    String.raw`09:30:05 ERROR effect failed err="AppError: no\nluck" counts={"a":1} none=null`,
  );
});

test("text from outside can't steer the terminal", () => {
  const record = { level: "info", time: TIME, title: "a\u001b[2Jb\u009b1mc\u202ed", msg: "x\ry\nz\u001b]0;t\u0007" };
  const line = prettyLine(record, false);
  expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(line).toContain("x\\u{d}y\\u{a}z\\u{1b}]0;t\\u{7}");
});

test("colour changes nothing but colour", () => {
  const record = { level: "error", time: TIME, msg: "broken" };
  const coloured = prettyLine(record, true);
  expect(coloured).not.toBe(prettyLine(record, false));
  expect(stripVTControlCharacters(coloured)).toBe(prettyLine(record, false));
});
