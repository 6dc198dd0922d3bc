import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { MANIFEST } from "../../src/agent/codex/manifest.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/app-server.md"), "utf8");

interface Row {
  readonly behaviour: string;
  readonly file: string;
  readonly title: string;
  readonly versions: string;
}

function rows(): readonly Row[] {
  const cells = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return cells
    .filter(([, , test = ""]) => test.includes(".test.ts"))
    .map(([, behaviour = "", test = "", versions = ""]) => {
      const [file = "", ...title] = test.split(": ");
      return { behaviour, file, title: title.join(": "), versions };
    });
}

/** Titles of the tests in a file. */
function titlesIn(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/(["'`])((?:\\.|(?!\1).)*)\1,\s*(?:async )?(?:\(|function)/gs)].map((found) =>
    (found[2] ?? "").replaceAll(/\\(.)/g, "$1"),
  );
}

it("every test that the page names exists", () => {
  expect(rows().length).toBeGreaterThan(50);
  const missing = rows().filter(({ file, title }) => !titlesIn(file).includes(title));
  expect(missing.map(({ file, title }) => `${file}: ${title}`)).toEqual([]);
});

it("every row says on which versions, and no behaviour is told twice", () => {
  const told = rows().map(({ behaviour }) => behaviour);
  expect(told.filter((behaviour, at) => told.indexOf(behaviour) !== at)).toEqual([]);
  for (const { versions } of rows()) expect(versions).toMatch(/^(real|double|-|replay( 0\.\d+,?)+)$/);
});

it("the page tells the version and the number of unwanted notifications as they are", () => {
  expect(page).toContain(`0.100.0 to ${MANIFEST.version} are tested`);
  expect(MANIFEST.unused).toHaveLength(15);
  expect(page).toContain("We opt out of fifteen notifications");
});
