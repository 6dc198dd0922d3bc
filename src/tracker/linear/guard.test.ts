/** Which operations of an agent pass the guard: each case goes through the tool to a local Linear, and the board is looked at afterwards. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { IssueRow } from "../../../test/fakes/linear/rows.ts";
import { CHANGES } from "../../../test/fixtures/linear-guard/changes.ts";
import type { Case, Ids } from "../../../test/fixtures/linear-guard/guard-case.ts";
import { READS } from "../../../test/fixtures/linear-guard/reads.ts";
import { SHAPES } from "../../../test/fixtures/linear-guard/shapes.ts";
import { TRESPASSES } from "../../../test/fixtures/linear-guard/trespasses.ts";
import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { ToolResult } from "../../domain/tool.ts";

const UPDATE = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }";

let bench: LinearBench;
let ids: Ids;
let issue: Issue;

beforeEach(async () => {
  bench = await startLinearBench();
  const { board } = bench.server;
  const own = board.createIssue({ title: "own", labels: ["a"] });
  const sub = board.createIssue({ title: "sub", parentId: own.id });
  const other = board.createIssue({ title: "other" });
  ids = {
    own: own.id,
    sub: sub.id,
    other: other.id,
    third: board.createIssue({ title: "third" }).id,
    ownComment: board.comment(own.id, "own").id,
    otherComment: board.comment(other.id, "other").id,
    ownAttachment: board.attach(own.id, "https://example.com/own", "own").id,
    otherAttachment: board.attach(other.id, "https://example.com/other", "other").id,
    team: board.team("ENG").id,
    otherTeam: board.addTeam("OPS", "Operations").id,
    project: board.project("demo").id,
    otherProject: board.addProject("elsewhere", "Elsewhere").id,
    done: board.state(own.teamId, "Done").id,
    label: board.label("new").id,
  };
  [issue] = (await bench.tracker.fetchIssuesByIds([issueId(own.id)])) as [Issue];
  bench.server.requests.length = 0;
});
afterEach(() => bench.dispose());

async function call(
  { query, variables }: Pick<Case, "query" | "variables">,
  provider: Readonly<Record<string, unknown>> = {},
): Promise<{ result: ToolResult; code: string }> {
  const tracker = await linearTrackerOn(bench.server, provider);
  const [tool] = tracker.tools;
  const text = typeof query === "string" ? query : query(ids);
  const args = { query: text, ...(variables === undefined ? {} : { variables: variables(ids) }) };
  const result = (await tool?.call(args, { issue, signal: new AbortController().signal })) ?? expect.fail("no tool");
  await tracker.close();
  const body = JSON.parse(result.text) as { error?: { code: string } };
  return { result, code: result.success ? "ok" : (body.error?.code ?? "errors") };
}

/** Everything that a change would show in, but for the run's own issue and its sub-issues. */
function others(): string {
  const { board } = bench.server;
  const isOther = (row: IssueRow): boolean => row.id !== ids.own && row.parentId !== ids.own;
  const comments = [...board.comments.values()].filter((comment) => comment.issueId === ids.other);
  const attachments = [...board.attachments.values()].filter((attachment) => attachment.issueId === ids.other);
  return JSON.stringify([
    [...board.issues.values()].filter(isOther),
    comments,
    attachments,
    [...board.labels.values()],
  ]);
}

describe("in mode scoped, an agent may read what the roots permit and no secret", () => {
  it.each(READS)("$outcome: $name", async (one) => {
    const { code, result } = await call(one);
    expect(code, result.text).toBe(one.outcome);
    if (one.outcome === "refused") expect(bench.server.requests).toEqual([]);
  });
});

describe("in mode scoped, an operation must be one, small and sound", () => {
  it.each(SHAPES)("$outcome: $name", async (one) => {
    const { code, result } = await call(one);
    expect(code, result.text).toBe(one.outcome);
    expect(bench.server.requests).toEqual([]);
  });
});

describe("in mode scoped, an agent may change its own issue and what hangs on it", () => {
  it.each(CHANGES)("$outcome: $name", async (one) => {
    const before = others();
    const { code, result } = await call(one);
    expect(code, result.text).toBe(one.outcome);
    expect(bench.server.requests.filter((request) => request.kind === "mutation")).toHaveLength(1);
    expect(others()).toBe(before);
  });
});

describe("in mode scoped, an agent may not change", () => {
  it.each(TRESPASSES)("$outcome: $name", async (one) => {
    const before = others();
    const { code, result } = await call(one);
    expect(code, result.text).toBe(one.outcome);
    expect(bench.server.requests.filter((request) => request.kind === "mutation")).toEqual([]);
    expect(others()).toBe(before);
  });

  it("anything, and is told what would be allowed", async () => {
    const unknown = await call({ query: 'mutation { webhookCreate(input: { url: "x" }) { success } }' });
    expect(JSON.parse(unknown.result.text)).toMatchObject({
      error: {
        code: "refused",
        message: expect.stringContaining("ENG-1"),
        allowed: expect.arrayContaining(["issueUpdate", "commentCreate"]),
      },
    });
    const key = await call({ query: UPDATE, variables: ({ own }) => ({ id: own, input: { trashed: true } }) });
    expect(JSON.parse(key.result.text)).toMatchObject({
      error: { message: expect.stringContaining("trashed"), allowed: expect.arrayContaining(["stateId", "title"]) },
    });
    const root = await call({ query: "{ organization { id } }" });
    expect(JSON.parse(root.result.text)).toMatchObject({
      error: { allowed: expect.arrayContaining(["issue", "issues"]) },
    });
  });
});

describe("in mode read", () => {
  const read = { tool: { mode: "read" } };

  it.each(READS)("$outcome: $name", async (one) => {
    const { code, result } = await call(one, read);
    expect(code, result.text).toBe(one.outcome);
  });

  it.each(CHANGES)("refused: $name", async (one) => {
    const { code } = await call(one, read);
    expect(code).toBe("refused");
    expect(bench.server.requests).toEqual([]);
  });
});

describe("in mode open", () => {
  const open = { tool: { mode: "open" } };

  it.each([
    ["a root that is not offered", "{ organization { id } }"],
    [
      "another issue's state",
      (the: Ids) => `mutation { issueUpdate(id: "${the.other}", input: { stateId: "${the.done}" }) { success } }`,
    ],
    ["a deletion", (the: Ids) => `mutation { commentDelete(id: "${the.otherComment}") { success } }`],
  ])("any single operation passes: %s", async (_name, query) => {
    expect((await call({ query }, open)).code).toBe("ok");
  });

  it.each(
    SHAPES.filter((one) =>
      /operations|empty|no GraphQL|alone|type definition|subscription|kB|nested braces/.test(one.name),
    ),
  )("$outcome: $name", async (one) => {
    expect((await call(one, open)).code).toBe("invalid_input");
    expect(bench.server.requests).toEqual([]);
  });
});
