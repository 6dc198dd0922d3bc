import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pictureReferences } from "./references.ts";

describe("the pictures of a description", () => {
  it.each([
    ["![shot](https://uploads.linear.app/a/b.png)", ["https://uploads.linear.app/a/b.png"]],
    ['text ![a](one.png "A title") and ![](two.png)', ["one.png", "two.png"]],
    ["![with blanks](<my shot.png>)", ["my shot.png"]],
    [`<img width="3" src="https://h/x.png?a=1&amp;b=2" alt="x">`, ["https://h/x.png?a=1&b=2"]],
    ["<IMG src='x.png'/>", ["x.png"]],
    ["![a](same.png) ![b](same.png)", ["same.png"]],
    ["[a link](doc.png), ![broken, ![](), <img alt='x'>", []],
    ["", []],
  ])("of %j", (description, references) => {
    expect(pictureReferences(description)).toEqual(references);
  });

  it("are found in any text, each once and never empty", () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom("![", "](", "<img src=", '"', ")", "![x](y.png)"));
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const found = pictureReferences(pieces.join(""));
        expect(new Set(found).size).toBe(found.length);
        expect(found.filter((reference) => reference.trim() === "")).toEqual([]);
      }),
    );
  });
});
