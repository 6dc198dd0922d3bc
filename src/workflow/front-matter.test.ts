/** How WORKFLOW.md is split into front matter and body. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { appErrorOf } from "../../test/support/workflow-files.ts";
import { splitWorkflow } from "./front-matter.ts";

const PATH = "/w/WORKFLOW.md";

describe("splitWorkflow", () => {
  test("front matter between fences and a trimmed body, each with its line", () => {
    expect(splitWorkflow(PATH, "---\na: 1\nb: 2\n---\n\n\n  Do it.\n\n")).toEqual({
      yaml: "a: 1\nb: 2",
      yamlLine: 2,
      body: "Do it.",
      bodyLine: 7,
    });
  });

  test.each([
    ["no front matter", "Just a prompt.\nMore.", null, "Just a prompt.\nMore.", 1],
    ["an empty file", "", null, "", 1],
    ["a file of blanks", " \n\n", null, "", 1],
    ["empty front matter", "---\n---\nBody", "", "Body", 3],
    ["empty front matter and no body", "---\n---", "", "", 3],
    ["a byte order mark", "\uFEFF---\na: 1\n---\nBody", "a: 1", "Body", 4],
    ["Windows line ends", "---\r\na: 1\r\n---\r\nBody\r\nmore\r\n", "a: 1", "Body\nmore", 4],
    ["blanks behind the fences", "--- \na: 1\n---\t \nBody", "a: 1", "Body", 4],
    ["rules of --- in the body", "---\na: 1\n---\nOne\n---\nTwo\n---\n", "a: 1", "One\n---\nTwo\n---", 4],
    ["an indented --- inside a block", "---\na: |\n  ---\n  x\n---\nBody", "a: |\n  ---\n  x", "Body", 6],
    ["four dashes are no fence", "----\nBody", null, "----\nBody", 1],
    ["a prompt that starts with blank lines", "\n\nBody", null, "Body", 3],
  ])("%s", (_name, text, ...[yaml, body, bodyLine]) => {
    expect(splitWorkflow(PATH, text)).toMatchObject({ yaml, body, bodyLine });
  });

  test("a fence that is never closed is a workflow_parse_error at its line", () => {
    const error = appErrorOf(() => splitWorkflow(PATH, "---\na: 1\nBody"));
    expect(error.code).toBe("workflow_parse_error");
    expect(error.message).toBe(`${PATH}:1: the front matter is never closed; end it with a line that holds only ---`);
  });

  test("blank lines before the first fence are named, rather than the settings being read as a prompt", () => {
    const error = appErrorOf(() => splitWorkflow(PATH, "\n\n---\na: 1\n---\nBody"));
    expect(error).toMatchObject({ code: "workflow_parse_error", data: { line: 3 } });
    expect(error.message).toContain("must begin on line 1");
  });

  test("whatever the body holds, it comes back trimmed and whole", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const body = text.replaceAll(/\r\n?/g, "\n");
        expect(splitWorkflow(PATH, `---\na: 1\n---\n${body}`)).toMatchObject({ yaml: "a: 1", body: body.trim() });
      }),
    );
  });
});
