import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { makeSettings } from "../../test/support/issues.ts";
import { makeTempDir } from "../../test/support/temp-dir.ts";
import { describeScope } from "./scope.ts";

function scopeOf(kind: string, provider: Readonly<Record<string, unknown>>): Promise<string> {
  const base = makeSettings();
  return describeScope({ ...base, tracker: { ...base.tracker, kind, provider } });
}

const LINEAR = {
  endpoint: "https://api.linear.app/graphql",
  credential: { kind: "token", token: "lin_api_secret", source: "environment" },
  scope: { projectSlug: "web", team: "ENG", labels: ["b", "a"], view: null },
  assignee: null,
  delegate: null,
  toolMode: "scoped",
  agentSessions: false,
};

test("a board is one scope by whatever link it is reached, and one that is gone keeps its name", async () => {
  await using dir = await makeTempDir();
  const board = join(dir.path, "board");
  await mkdir(board);
  await symlink(board, join(dir.path, "link"));
  expect(await scopeOf("local", { path: join(dir.path, "link"), states: [] })).toBe(`the board ${board}`);
  expect(await scopeOf("local", { path: "/nowhere", states: [] })).toBe("the board /nowhere");
});

test("Linear's scope is project, team, view and labels, whoever asks and for whom, without the key", async () => {
  const expected = "project web, team ENG, labels a b at https://api.linear.app/graphql";
  expect(await scopeOf("linear", LINEAR)).toBe(expected);
  const other = { ...LINEAR, credential: { kind: "file", path: "/key" }, assignee: "me" };
  expect(await scopeOf("linear", other)).toBe(expected);
  expect(await scopeOf("linear", { ...LINEAR, scope: { ...LINEAR.scope, team: "OPS" } })).not.toBe(expected);
});
