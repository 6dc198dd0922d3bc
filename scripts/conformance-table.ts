/** `node scripts/conformance-table.ts`: writes docs/conformance.md from the tests of test/conformance, and fails where a bullet has none. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { BULLETS } from "../test/conformance/bullets.ts";

const ROOT = resolve(import.meta.dirname, "..");
const FOLDER = "test/conformance";
const PAGE = join(ROOT, "docs/conformance.md");

/** Titles of `it(...)` and `test(...)` in a file. */
function titlesIn(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:it|test)\(\s*(["'`])((?:\\.|(?!\1).)*)\1/gs)].map((match) =>
    (match[2] ?? "").replaceAll(/\\(.)/g, "$1"),
  );
}

/** Where each title of a section is tested. */
function testsOf(section: string): ReadonlyMap<string, string> {
  const files = readdirSync(join(ROOT, FOLDER)).filter(
    (name) => name.startsWith(`${section}-`) && name.endsWith(".test.ts"),
  );
  const found = new Map<string, string>();
  for (const file of files.toSorted()) {
    for (const title of titlesIn(readFileSync(join(ROOT, FOLDER, file), "utf8"))) found.set(title, file);
  }
  return found;
}

/** The page, and what is wrong: bullets without a test, and tests that are no bullet. */
export function conformanceTable(): { readonly page: string; readonly gaps: readonly string[] } {
  const gaps: string[] = [];
  const lines = [
    "# Conformance",
    "",
    "What the public Symphony specification asks for in sections 17.1 to 17.7, and the test that shows it. **+** marks where we go further.",
    "Written by `node scripts/conformance-table.ts` from `test/conformance`; a test fails when this page is out of date.",
  ];
  for (const [section, { name, bullets }] of Object.entries(BULLETS)) {
    const tests = testsOf(section);
    lines.push("", `## ${section} ${name}`, "", "| bullet | | test |", "| --- | --- | --- |");
    for (const { title, ours } of bullets) {
      const file = tests.get(title);
      if (file === undefined) gaps.push(`${section}: no test is titled "${title}"`);
      lines.push(`| ${title.replaceAll("|", "\\|")} | ${ours === true ? "+" : ""} | ${file ?? "**none**"} |`);
    }
    for (const title of tests.keys()) {
      if (!bullets.some((bullet) => bullet.title === title)) gaps.push(`${section}: "${title}" is not in bullets.ts`);
    }
  }
  return { page: `${lines.join("\n")}\n`, gaps };
}

if (import.meta.main) {
  const { page, gaps } = conformanceTable();
  writeFileSync(PAGE, page);
  for (const gap of gaps) process.stderr.write(`${gap}\n`);
  process.exitCode = gaps.length === 0 ? 0 : 1;
}
