/** `$NAME` values, and where they are not looked at. */
import { describe, expect, test } from "vitest";

import { expandPath } from "./paths.ts";
import { referencedName, resolveReference, resolveReferences } from "./references.ts";

const env = { TOKEN: "abc", PORT: "8080", EMPTY: "", BLANK: "  ", HOME: "/home/me" };

describe("one value", () => {
  test.each([
    ["$TOKEN", "TOKEN"],
    ["${TOKEN}", "TOKEN"],
    [" $TOKEN ", "TOKEN"],
    ["x$TOKEN", null],
    ["$TOKEN/x", null],
    ["$1", null],
    ["$", null],
    ["$(whoami)", null],
    [7, null],
  ])("%j refers to %j", (value, name) => {
    expect(referencedName(value)).toBe(name);
  });

  test("a reference gives the variable's value, and an unset or empty variable gives none", () => {
    expect(["$TOKEN", "$NOWHERE", "$EMPTY", "$BLANK", "plain", 5].map((value) => resolveReference(value, env))).toEqual(
      ["abc", undefined, undefined, undefined, "plain", 5],
    );
  });
});

describe("the whole file", () => {
  test("values, list items and map entries are resolved, and it is known from where", () => {
    const { values, from } = resolveReferences(
      { server: { port: "$PORT" }, notify: { webhooks: ["$TOKEN", "https://x"] }, codex: { env: { A: "$TOKEN" } } },
      env,
    );
    expect(values).toEqual({
      server: { port: "8080" },
      notify: { webhooks: ["abc", "https://x"] },
      codex: { env: { A: "abc" } },
    });
    expect([...from]).toEqual([
      ["server.port", "PORT"],
      ["notify.webhooks[0]", "TOKEN"],
      ["codex.env.A", "TOKEN"],
    ]);
  });

  test("shell text, passed-through values and the adapter's keys are left alone", () => {
    const values = {
      hooks: { before_run: "$TOKEN" },
      codex: { command: "$TOKEN", approval_policy: "$TOKEN", turn_sandbox_policy: { type: "$TOKEN" } },
      tracker: { provider: { api_key: "$TOKEN" }, api_key: "$TOKEN" },
    };
    expect(resolveReferences(values, env).values).toEqual(values);
  });

  test("references without a value and keys without one count as missing", () => {
    const { values, unset } = resolveReferences({ server: { port: "$NOWHERE", host: null }, log: null }, env);
    expect(values).toEqual({ server: {} });
    expect(unset).toEqual([{ path: ["server", "port"], name: "NOWHERE" }]);
  });
});

describe("paths", () => {
  const context = { env, homeDir: "/home/me", baseDir: "/w/project" };

  test.each([
    ["~", "/home/me"],
    ["~/spaces", "/home/me/spaces"],
    ["~other/x", "/w/project/~other/x"],
    ["spaces", "/w/project/spaces"],
    ["./spaces/../b", "/w/project/b"],
    ["../up", "/w/up"],
    ["/abs/./x/", "/abs/x"],
    ["$HOME/x", "/home/me/x"],
    ["${TOKEN}s/$PORT", "/w/project/abcs/8080"],
    ["a$ b", "/w/project/a$ b"],
  ])("%j is %j", (text, path) => {
    expect(expandPath(text, context)).toEqual({ path });
  });

  test("the first variable without a value is named", () => {
    expect(expandPath("$HOME/$NOWHERE/${EMPTY}", context)).toEqual({ unset: "NOWHERE" });
  });
});
