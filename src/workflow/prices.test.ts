import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { workflowText, writeWorkflow } from "../../test/support/workflow-files.ts";
import { findPrices } from "./prices.ts";

let dir: TempDir;

beforeEach(async () => {
  dir = await makeTempDir();
});
afterEach(() => dir.dispose());

test("prices are read from a file whose other sections are not in order", () => {
  const path = writeWorkflow(
    dir.path,
    "---\ntracker: {kind: nobody}\nagent: {max_turns: many}\nbudget: {prices: {m-1: {input: 1.25, output: 10}}}\n---\n{{ nothing }}\n",
  );
  expect(findPrices(path)).toEqual({ "m-1": { input: 1.25, cachedInput: 1.25, output: 10 } });
});

test.each([
  ["there is no file", null],
  ["nothing is said about them", workflowText()],
  ["they make no sense", workflowText("budget: {prices: {m-1: {input: cheap}}}")],
  ["the front matter is broken", "---\nbudget: {\n---\n"],
])("there are none when %s", (_why, content) => {
  const path = content === null ? join(dir.path, "WORKFLOW.md") : writeWorkflow(dir.path, content);
  expect(findPrices(path)).toEqual({});
});
