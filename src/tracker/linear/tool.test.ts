/** The contract of `linear_graphql` (sections 10.5 and 11.5). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { until } from "../../../test/support/until.ts";
import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { Tool, ToolResult } from "../../domain/tool.ts";

let bench: LinearBench;
let issue: Issue;
let tool: Tool;

beforeEach(async () => {
  bench = await startLinearBench();
  const row = bench.server.board.createIssue({ title: "own", description: "what to do" });
  [issue] = (await bench.tracker.fetchIssuesByIds([issueId(row.id)])) as [Issue];
  [tool] = bench.tracker.tools as [Tool];
  bench.server.requests.length = 0;
});
afterEach(() => bench.dispose());

function call(args: unknown, signal: AbortSignal = new AbortController().signal): Promise<ToolResult> {
  return tool.call(args, { issue, signal });
}

function bodyOf(result: ToolResult): {
  error?: { code: string; message: string; reset_at?: string };
  data?: unknown;
  errors?: unknown[];
} {
  return JSON.parse(result.text) as ReturnType<typeof bodyOf>;
}

function comment(body: string): Record<string, unknown> {
  return {
    query: "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id } } }",
    variables: { input: { issueId: issue.id, body } },
  };
}

describe("input", () => {
  it("may be a query string", async () => {
    const result = await call("{ viewer { name } }");
    expect(result).toEqual({ success: true, text: '{"data":{"viewer":{"name":"Key Owner"}}}' });
  });

  it("may be a query with variables, null or none", async () => {
    const query = "query($id: String!) { issue(id: $id) { title } }";
    expect(bodyOf(await call({ query, variables: { id: issue.identifier } }))).toEqual({
      data: { issue: { title: "own" } },
    });
    for (const args of [{ query: "{ viewer { id } }" }, { query: "{ viewer { id } }", variables: null }]) {
      expect((await call(args)).success).toBe(true);
    }
  });

  it.each([
    [undefined, /neither a string nor an object/],
    [7, /neither a string nor an object/],
    [["{ viewer { id } }"], /neither a string nor an object/],
    [{}, /query is no string/],
    [{ query: 7 }, /query is no string/],
    [{ query: "" }, /query is empty/],
    [{ query: "{ viewer { id } }", variables: "{}" }, /variables is no object/],
    [{ query: "{ viewer { id } }", variables: [] }, /variables is no object/],
    [{ query: "query A { viewer { id } }", operationName: "A" }, /unknown key "operationName"/],
    ["query A { viewer { id } } query B { viewer { id } }", /has 2 operations; give exactly one/],
  ])("fails with a code and a message for %j, and nothing is sent", async (args, message) => {
    const result = await call(args);
    expect(result.success).toBe(false);
    expect(bodyOf(result)).toEqual({ error: { code: "invalid_input", message: expect.stringMatching(message) } });
    expect(bench.server.requests).toEqual([]);
  });

  it("says whether it can change something: a mutation can, nothing else does", () => {
    expect(tool.canChange(comment("x"))).toBe(true);
    expect(tool.canChange("mutation { issueArchive(id: 1) { success } }")).toBe(true);
    expect(tool.canChange("{ viewer { id } } # mutation { x }")).toBe(false);
    expect(tool.canChange({ query: "nonsense(" })).toBe(false);
    expect(tool.canChange(null)).toBe(false);
  });
});

describe("results", () => {
  it("keep the body of an answer with errors, as a failure", async () => {
    const result = await call('{ issue(id: "ENG-99") { title } }');
    expect(result.success).toBe(false);
    expect(bodyOf(result)).toEqual({
      errors: [expect.objectContaining({ message: "Entity not found: Issue", path: ["issue"] })],
    });
  });

  it("keep data beside errors, as a failure", async () => {
    bench.server.fail({ fault: { kind: "graphql", withData: true, errors: [{ message: "half" }] } });
    const result = await call("{ viewer { name } }");
    expect(result.success).toBe(false);
    expect(bodyOf(result)).toEqual({ data: { viewer: { name: "Key Owner" } }, errors: [{ message: "half" }] });
  });

  it("keep what Linear says of an invalid document", async () => {
    const result = await call("{ viewer { nmae } }");
    expect(result.success).toBe(false);
    expect(result.text).toContain('Cannot query field \\"nmae\\"');
    expect(bodyOf(result)).toMatchObject({
      error: { code: "tracker_status" },
      errors: [{ extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }],
    });
  });

  it.each([
    [{ kind: "reset" }, "tracker_request"],
    [{ kind: "html" }, "tracker_response"],
    [{ kind: "status", status: 503 }, "tracker_status"],
    [
      { kind: "graphql", status: 401, errors: [{ message: "no", extensions: { code: "AUTHENTICATION_ERROR" } }] },
      "tracker_status",
    ],
  ] as const)("have a code and a message for %j", async (fault, code) => {
    bench.server.fail({ fault });
    const result = await call("{ viewer { id } }");
    expect(result.success).toBe(false);
    expect(bodyOf(result).error).toMatchObject({ code, message: expect.any(String) });
  });

  it("carry the reset time of a throttled call, and none is sent before it", async () => {
    const resetAt = Date.now() + 90_000;
    const headers = { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": String(resetAt) };
    bench.server.fail({ fault: { kind: "ratelimited", headers } });
    for (let n = 0; n < 2; n += 1) {
      const result = await call("{ viewer { id } }");
      expect(result.success).toBe(false);
      expect(bodyOf(result).error).toMatchObject({
        code: "tracker_rate_limited",
        reset_at: new Date(resetAt).toISOString(),
      });
    }
    expect(bench.server.requests).toHaveLength(1);
  });

  it("say so when Linear finds a query too complex", async () => {
    bench.server.fail({ fault: { kind: "graphql", status: 400, errors: [{ message: "Query too complex" }] } });
    expect(bodyOf(await call("{ viewer { id } }"))).toMatchObject({ error: { code: "too_complex" } });
  });

  it("warn that a change may have been made when its answer was lost", async () => {
    bench.server.fail({ fault: { kind: "reset" } });
    const query = `mutation { issueUpdate(id: "${issue.id}", input: { title: "new" }) { success } }`;
    expect(bodyOf(await call(query)).error?.message).toMatch(/may have been made all the same: read before you repeat/);
    expect(bench.server.board.issue(issue.id).title).toBe("new");
  });

  it("are cut with advice when they are long, whatever their size", async () => {
    bench.server.board.patchIssue(issue.id, { description: "x".repeat(1_000_000) });
    const result = await call(`{ issue(id: "${issue.id}") { description } }`);
    expect(result.success).toBe(true);
    expect(Buffer.byteLength(result.text)).toBeLessThan(12_000);
    expect(JSON.parse(result.text)).toMatchObject({
      truncated: { bytes: expect.any(Number), advice: expect.stringContaining("first: 10") },
      preview: expect.stringContaining("xxx"),
    });
  });

  it("never show the key, even when Linear echoes it", async () => {
    bench.server.fail({
      fault: { kind: "graphql", status: 400, errors: [{ message: `bad key ${bench.server.apiKey}`, extensions: {} }] },
    });
    const result = await call("{ viewer { id } }");
    expect(result.text).not.toContain(bench.server.apiKey);
    expect(result.text).toContain("[redacted]");
    expect(JSON.stringify([tool.name, tool.description, tool.inputSchema])).not.toContain(bench.server.apiKey);
  });
});

describe("time", () => {
  it("is up when the call's signal says so", async () => {
    bench.server.fail({ fault: { kind: "hang" } });
    const controller = new AbortController();
    const pending = call("{ viewer { id } }", controller.signal);
    await until("the request is out", () => bench.server.requests.length > 0);
    controller.abort({ kind: "deadline" });
    const result = await pending;
    expect(result.success).toBe(false);
    expect(bodyOf(result).error).toMatchObject({ code: "cancelled" });
  });

  it("is up before anything is sent when the run has ended", async () => {
    expect(bodyOf(await call("{ viewer { id } }", AbortSignal.abort())).error).toMatchObject({ code: "cancelled" });
    expect(bench.server.requests).toEqual([]);
  });
});

describe("what belongs to the run", () => {
  const operations = (): (string | null)[] =>
    bench.server.requests.splice(0).map((request) => request.operation ?? request.rootFields[0] ?? null);

  it("needs no look-up for the run's own issue or for what the tool has just made", async () => {
    const made = bodyOf(await call(comment("work pad"))).data as { commentCreate: { comment: { id: string } } };
    const { id } = made.commentCreate.comment;
    await call(`mutation { commentUpdate(id: "${id}", input: { body: "more" }) { success } }`);
    expect(operations()).toEqual(["commentCreate", "commentUpdate"]);
    expect(bench.server.board.comments.get(id)?.body).toBe("more");
  });

  it("finds what was made under aliases", async () => {
    const made = bodyOf(
      await call(
        `mutation { a: commentCreate(input: { issueId: "${issue.id}", body: "x" }) { b: comment { c: id } } }`,
      ),
    ).data as { a: { b: { c: string } } };
    operations();
    await call(`mutation { commentUpdate(id: "${made.a.b.c}", input: { body: "more" }) { success } }`);
    expect(operations()).toEqual(["commentUpdate"]);
  });

  it("is looked up once for a comment that was there before", async () => {
    const { id } = bench.server.board.comment(issue.id, "from yesterday");
    for (const body of ["one", "two"]) {
      await call({
        query: "mutation($id: String!, $body: String!) { commentUpdate(id: $id, input: { body: $body }) { success } }",
        variables: { id, body },
      });
    }
    expect(operations()).toEqual(["SymphonyCommentOwner", "commentUpdate", "commentUpdate"]);
  });

  it("can't be told while Linear doesn't answer, and then nothing is changed", async () => {
    const { id } = bench.server.board.comment(issue.id, "old");
    bench.server.fail({ operation: "SymphonyCommentOwner", fault: { kind: "status", status: 503 } });
    const result = await call(`mutation { commentUpdate(id: "${id}", input: { body: "new" }) { success } }`);
    expect(bodyOf(result).error).toMatchObject({ code: "tracker_status" });
    expect(bench.server.board.comments.get(id)?.body).toBe("old");
  });

  it("counts what hangs on a sub-issue", async () => {
    const { board } = bench.server;
    const sub = board.createIssue({ title: "sub", parentId: issue.id });
    const { id } = board.comment(sub.id, "old");
    expect((await call(`mutation { commentUpdate(id: "${id}", input: { body: "new" }) { success } }`)).success).toBe(
      true,
    );
  });
});

describe("the shared budget", () => {
  it("keeps a fifth for the daemon's own reads and a little for changes, however an agent floods the tool", async () => {
    await bench.dispose();
    bench = await startLinearBench({ server: { limits: { requests: 100, complexity: 3_000_000 } } });
    const row = bench.server.board.createIssue({ title: "own" });
    [issue] = (await bench.tracker.fetchIssuesByIds([issueId(row.id)])) as [Issue];
    [tool] = bench.tracker.tools as [Tool];
    const outcomes: boolean[] = [];
    for (let n = 0; n < 120; n += 1) outcomes.push((await call("{ viewer { id } }")).success);
    expect(outcomes.filter(Boolean).length).toBeGreaterThan(70);
    expect(bench.server.buckets.left().requests).toBeGreaterThan(18);
    expect(outcomes.at(-1)).toBe(false);
    const last = bodyOf(await call("{ viewer { id } }"));
    expect(last.error).toMatchObject({ code: "tracker_rate_limited", reset_at: expect.any(String) });
    expect((await call(comment("still possible"))).success).toBe(true);
    expect(await bench.tracker.fetchIssuesByIds([issueId(row.id)])).toHaveLength(1);
    expect((await bench.tracker.poll?.({ states: ["Todo"], ids: [issueId(row.id)] }))?.candidates).toHaveLength(1);
  });
});

it("warns once about a key that stands in the workflow file, without showing it", async () => {
  const tracker = await linearTrackerOn(bench.server, { api_key: bench.server.apiKey }, { log: bench.log });
  expect(bench.log.warnings()).toHaveLength(1);
  expect(bench.log.warnings()[0]).toContain("tracker.provider.api_key stands in the workflow file");
  expect(bench.log.lines().join()).not.toContain(bench.server.apiKey);
  await tracker.close();
});
