/** Figures are read at a glance, so their texts are pinned. */
import { describe, expect, test } from "vitest";
import {
  formatDollars,
  formatDuration,
  formatTokens,
  formatUntil,
  pathWithin,
  plainCommand,
  safeUrl,
  words,
} from "./format.ts";

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1.00k"],
  [12_345, "12.3k"],
  [123_456, "123k"],
  [999_499, "999k"],
  [999_500, "1.00M"],
  [23_456_789, "23.5M"],
])("%i tokens read %s", (value, text) => {
  expect(formatTokens(value)).toBe(text);
});

test.each([
  [-5000, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [192_000, "3 min 12 s"],
  [7_500_000, "2 h 5 min"],
  [273_600_000, "3 d 4 h"],
])("%i ms read %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test("a due time that has come reads now", () => {
  expect([formatUntil(1000, 500), formatUntil(1000, 9000), formatUntil(61_000, 1000)]).toEqual([
    "now",
    "now",
    "in 1 min",
  ]);
});

test("a cost without a price is a dash, and a small one isn't nothing", () => {
  expect([null, 0, 0.004, 1.005, 12].map(formatDollars)).toEqual(["–", "$0.00", "<$0.01", "$1.00", "$12.00"]);
});

test("names of the API read as words", () => {
  expect(words("no_progress_at_all")).toBe("no progress at all");
});

describe("a ticket's address", () => {
  test.each(["https://linear.app/x/ENG-1", "http://127.0.0.1/x"])("%s is a link", (url) => {
    expect(safeUrl(url)).toBe(url);
  });

  test.each([
    null,
    "",
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "ENG-1",
  ])("%s is none", (url) => {
    expect(safeUrl(url)).toBeNull();
  });
});

test.each([
  ["/bin/bash -c 'ls src'", "ls src"],
  ["bash -lc 'echo '\\''hi'\\'' && ls'", "echo 'hi' && ls"],
  ["/bin/zsh -lc 'one\ntwo'", "one\ntwo"],
  ["ls -c 'x'", "ls -c 'x'"],
  ["/bin/bash -c ls", "/bin/bash -c ls"],
])("%s reads %s", (command, text) => {
  expect(plainCommand(command)).toBe(text);
});

test("a path in the workspace is told from there, and a neighbour's isn't", () => {
  expect(pathWithin("/w/T-1/src/a.ts", "/w/T-1")).toBe("src/a.ts");
  expect(pathWithin("/w/T-10/a.ts", "/w/T-1")).toBe("/w/T-10/a.ts");
  expect(pathWithin("a.ts", null)).toBe("a.ts");
});
