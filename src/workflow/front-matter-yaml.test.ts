/** What the front matter's YAML may be, and what its errors say. */
import { describe, expect, test } from "vitest";

import { appErrorOf } from "../../test/support/workflow-files.ts";
import { keyText, parseFrontMatter } from "./front-matter-yaml.ts";

const PATH = "/w/WORKFLOW.md";

function parse(yaml: string): Readonly<Record<string, unknown>> {
  return parseFrontMatter(PATH, yaml, 2).values;
}

describe("values", () => {
  test.each([
    ["nothing", "", {}],
    ["only comments", "# nothing yet\n", {}],
    ["an explicit null", "~", {}],
    ["nested maps and lists", "a:\n  b: [1, two]\n  c: true", { a: { b: [1, "two"], c: true } }],
    ["block scalars", "run: |\n  one\n  two\n", { run: "one\ntwo\n" }],
    ["a small anchor and its alias", "a: &x {k: 1}\nb: *x", { a: { k: 1 }, b: { k: 1 } }],
    ["words that only YAML 1.1 took for booleans", "a: [yes, no, on, off]", { a: ["yes", "no", "on", "off"] }],
    ["core tags", "a: !!str 5", { a: "5" }],
  ])("%s", (_name, yaml, values) => {
    expect(parse(yaml)).toEqual(values);
  });

  test("a key called __proto__ is a key like any other and changes no prototype", () => {
    const values = parse("__proto__: {polluted: 1}");
    expect(Object.hasOwn(values, "__proto__")).toBe(true);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

describe("errors", () => {
  test.each([
    ["a duplicate key", "a: 1\nb: 2\na: 3", 4],
    ["a tab as indentation", "a:\n\tb: 1", 3],
    ["an unclosed list", "a: [1, 2\nb: 3", 3],
    ["an unclosed quote", "a: 'x\nb: 2", 3],
    ["a tag that would run code elsewhere", "a: 1\nb: !!js/function 'return 1'", 3],
    ["a binary tag", "a: !!binary aGk=", 2],
    ["a tag of one's own", "a: !secret x", 2],
    ["a second document", "a: 1\n...\nb: 2", 4],
    ["an alias without its anchor", "a: *nowhere", 2],
    ["an alias inside its own anchor", "a: &x\n  b: *x", 2],
    ["brackets nested beyond reason", `a: ${"[".repeat(20_000)}`, 2],
  ])("%s is a workflow_parse_error with its line", (_name, yaml, line) => {
    const error = appErrorOf(() => parse(yaml));
    expect(error.code).toBe("workflow_parse_error");
    expect(error.message.startsWith(`${PATH}:${line}: `)).toBe(true);
    expect(error.message).not.toContain("\n");
  });

  test("aliases that unfold without bound are refused before they are unfolded", () => {
    const levels = ["b", "c", "d", "e", "f", "g", "h", "i", "j"];
    const bomb = levels.reduce(
      (text, name, index) => `${text}${name}: &${name} [${`*${"abcdefghij"[index]}, `.repeat(9)}]\n`,
      "a: &a [x, x, x, x, x, x, x, x, x]\n",
    );
    const error = appErrorOf(() => parse(bomb));
    expect(error.code).toBe("workflow_parse_error");
    expect(error.message).toContain("alias");
  });

  test.each([
    ["- a\n- b", "a list"],
    ["just words", "text"],
    ["42", "a number"],
  ])("front matter that is %j is workflow_front_matter_not_a_map", (yaml, kind) => {
    const error = appErrorOf(() => parse(yaml));
    expect(error.code).toBe("workflow_front_matter_not_a_map");
    expect(error.message).toBe(`${PATH}:2: the front matter is ${kind}, not a map; write it as key: value lines`);
  });

  test("no error shows what stands on the line", () => {
    for (const yaml of [
      "key: 'lin_api_SECRET\nb: 2",
      "key: lin_api_SECRET: x",
      "key: {k: lin_api_SECRET",
      "lin_api_SECRET",
    ]) {
      expect(appErrorOf(() => parse(yaml)).message).not.toContain("SECRET");
    }
  });
});

describe("lines", () => {
  const matter = parseFrontMatter(PATH, "a:\n  b: 1\n  list:\n    - x\n    - y: 2\nc: 3", 2);

  test.each([
    [["a"], 2],
    [["a", "b"], 3],
    [["a", "list", 0], 5],
    [["a", "list", 1, "y"], 6],
    [["c"], 7],
    [["a", "missing"], 2],
    [["missing"], 2],
    [["c", "below", "a", "scalar"], 7],
  ])("%j is on line %i", (path, line) => {
    expect(matter.lineOf(path)).toBe(line);
  });

  test("a path reads as people write it", () => {
    expect(keyText(["notify", "webhooks", 0])).toBe("notify.webhooks[0]");
    expect(keyText(["codex", "env", "NAME"])).toBe("codex.env.NAME");
  });
});
