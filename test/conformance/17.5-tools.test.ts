import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { Tool, ToolResult } from "../../src/domain/tool.ts";
import { startLinearBench, type LinearBench } from "../support/linear-tracker.ts";

let bench: LinearBench;
let issue: Issue;
let tool: Tool;

beforeEach(async () => {
  bench = await startLinearBench();
  const row = bench.server.board.createIssue({ title: "own" });
  [issue] = (await bench.tracker.fetchIssuesByIds([issueId(row.id)])) as [Issue];
  [tool] = bench.tracker.tools as [Tool];
});

afterEach(() => bench.dispose());

function call(args: unknown): Promise<ToolResult> {
  return tool.call(args, { issue, signal: new AbortController().signal });
}

describe("17.5 App-server client: linear_graphql", () => {
  it("linear_graphql runs with the daemon's credential", async () => {
    expect(tool.name).toBe("linear_graphql");
    const query = "query($id: String!) { issue(id: $id) { title } viewer { name } }";
    const result = await call({ query, variables: { id: issue.identifier } });
    expect(result.success).toBe(true);
    expect(JSON.parse(result.text)).toEqual({ data: { issue: { title: "own" }, viewer: { name: "Key Owner" } } });
    expect(result.text).not.toContain(bench.server.apiKey);
  });

  it("linear_graphql answers GraphQL errors with success false and the body", async () => {
    const result = await call('{ issue(id: "NOPE-404") { title } }');
    expect(result.success).toBe(false);
    expect(JSON.parse(result.text)).toMatchObject({ errors: [{ message: expect.any(String) }] });
  });

  it("linear_graphql answers bad input and lost connections as structured failures", async () => {
    const bad = await call("query A { viewer { id } } query B { viewer { id } }");
    expect([bad.success, JSON.parse(bad.text)]).toMatchObject([false, { error: { code: "invalid_input" } }]);
    await bench.server.close();
    const lost = await call("{ viewer { id } }");
    expect(lost.success).toBe(false);
    expect(JSON.parse(lost.text)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
  });
});
