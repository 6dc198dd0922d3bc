/** What a terminal gets to see of text that others wrote. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { showCount, showInstant, showSpan } from "./figures.ts";
import { tableLines } from "./table.ts";
import { cutText, plainJson, plainLine, textWidth } from "./terminal-text.ts";

/** Everything that a terminal would obey, and what turns the reading direction. */
const OBEYED = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const anyText = fc.string({ unit: "binary" });

describe("a cell", () => {
  test("shows a terminal's commands instead of sending them", () => {
    expect(plainLine("\u001b[31mred\u001b[0m \u0007bell \u009b2J")).toBe("\\x1b[31mred\\x1b[0m \\x07bell \\x9b2J");
    expect(plainLine("safe\u202egnp.exe")).toBe("safe\\u202egnp.exe");
  });

  test("is one line", () => {
    expect(plainLine("  first\r\nsecond\tthird\u2028fourth ")).toBe("first second third fourth");
  });

  test("never holds anything that a terminal obeys, whatever the text", () => {
    fc.assert(fc.property(anyText, (text) => !OBEYED.test(plainLine(text))));
  });

  test("keeps letters of every script", () => {
    expect(plainLine("Größe 名前 ñ 🚀")).toBe("Größe 名前 ñ 🚀");
  });

  test("is cut to its width with an ellipsis, wide letters counted twice", () => {
    expect(cutText("abcdef", 6)).toBe("abcdef");
    expect(cutText("abcdefg", 6)).toBe("abcde…");
    expect(cutText("名前名前", 5)).toBe("名前…");
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 20 }), (text, width) => textWidth(cutText(text, width)) <= width),
    );
  });
});

test("columns line up beside wide and combining letters", () => {
  const lines = tableLines(
    [{ title: "NAME" }, { title: "N", align: "right" }],
    [
      ["abc", "1"],
      ["名前", "22"],
      ["e\u0301", "333"],
    ],
  );
  expect(lines).toEqual(["NAME    N", "abc     1", "名前   22", "e\u0301     333"]);
});

test("a table without rows is its titles", () => {
  expect(tableLines([{ title: "A" }, { title: "B" }], [])).toEqual(["A  B"]);
});

test("JSON on a terminal is the same value and holds nothing that a terminal obeys", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const json = plainJson({ text });
      expect(JSON.parse(json)).toEqual({ text });
      expect(json).not.toMatch(OBEYED);
    }),
  );
});

test("figures read like figures", () => {
  expect(showCount(1234567)).toBe("1,234,567");
  expect([0, 840, 12_000, 185_000, 7_620_000].map(showSpan)).toEqual([
    "0 ms",
    "840 ms",
    "12 s",
    "3 min 05 s",
    "2 h 07 min",
  ]);
  expect(showInstant("2026-11-30T09:15:00.000Z")).toBe("2026-11-30 09:15:00");
  expect(showInstant("not a time")).toBe("not a time");
});
