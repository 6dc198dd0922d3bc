import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { conformanceTable } from "../../scripts/conformance-table.ts";

const PAGE = join(resolve(import.meta.dirname, "../.."), "docs/conformance.md");

it("every bullet has its test, and docs/conformance.md is up to date (node scripts/conformance-table.ts)", () => {
  const { page, gaps } = conformanceTable();
  expect(gaps).toEqual([]);
  expect(readFileSync(PAGE, "utf8")).toBe(page);
});
