/** docs/settings.md names every key with its default, and no key that isn't there. */
import { readFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { workflowSchema } from "../../src/workflow/settings/schema.ts";
import { schemaKeys } from "../../src/workflow/settings/unknown-keys.ts";

const page = await readFile(new URL("../../docs/settings.md", import.meta.url), "utf8");

/** Key to the text in its default column. */
const rows = new Map(
  [...page.matchAll(/^\| `([a-z_.]+)` +\| (.+?) +\|/gm)].map((row) => [row[1] ?? "", row[2] ?? ""] as const),
);

const defaults: unknown = workflowSchema.parse({ tracker: { kind: "local" } });

function defaultOf(key: string): unknown {
  return key.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], defaults);
}

/** Defaults that aren't the file's to give. */
const FROM_ELSEWHERE: Readonly<Record<string, string>> = {
  "tracker.kind": "required",
  "tracker.active_states": "the tracker's",
  "tracker.terminal_states": "the tracker's",
  "workspace.root": "`symphony_workspaces` in the system's temporary folder",
};

function asWritten(value: unknown): string {
  if (value === null) return "none";
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

test.each(schemaKeys())("%s is on the page with its default", (key) => {
  expect(rows.get(key)).toBe(FROM_ELSEWHERE[key] ?? asWritten(defaultOf(key)));
});

test("the page has no other keys", () => {
  expect([...rows.keys()].toSorted()).toEqual([...schemaKeys()].toSorted());
});
