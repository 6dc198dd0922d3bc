/** The local Linear behaves as the live one was measured to, where the adapter depends on it. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { matchesFilter } from "./filter.ts";
import type { LinearServer } from "./server.ts";
import { startLinearServer } from "./server.ts";

interface Body {
  readonly data?: Record<string, { readonly nodes: readonly { readonly identifier: string }[] }> | null;
  readonly errors?: readonly { readonly message: string; readonly extensions: Record<string, unknown> }[];
}

let server: LinearServer;
beforeEach(async () => {
  server = await startLinearServer({ oauthTokens: new Set(["lin_oauth_x"]) });
});
afterEach(() => server.close());

async function send(
  query: string,
  variables: Record<string, unknown> = {},
  authorization = server.apiKey,
): Promise<{ status: number; headers: Headers; body: Body }> {
  const response = await fetch(server.url, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

describe("filters", () => {
  const issue = {
    id: "a",
    title: "x",
    estimate: null,
    project: null,
    state: { name: "Todo" },
    labels: [{ name: "one" }],
  };

  it.each([
    [
      "keys of one `or` branch are alternatives",
      { or: [{ title: { eq: "no" }, state: { name: { eq: "Todo" } } }] },
      true,
    ],
    [
      "an `and` inside a branch is a conjunction",
      { or: [{ and: [{ title: { eq: "no" } }, { state: { name: { eq: "Todo" } } }] }] },
      false,
    ],
    ["an empty `or` constrains nothing", { or: [] }, true],
    ["`in` of nothing matches nothing", { title: { in: [] } }, false],
    ["`eq` minds the case", { state: { name: { eq: "todo" } } }, false],
    ["`eqIgnoreCase` doesn't", { state: { name: { eqIgnoreCase: "todo" } } }, true],
    ["a null value passes `nin`", { estimate: { nin: [1] } }, true],
    ["a null value fails `neq`", { estimate: { neq: 1 } }, false],
    ["an absent relation passes `neq`", { project: { name: { neq: "p" } } }, true],
    ["an absent relation fails `eq`", { project: { name: { eq: "p" } } }, false],
    ["`some` finds one", { labels: { some: { name: { eq: "one" } } } }, true],
    ["`every` not equal means without", { labels: { every: { name: { neq: "one" } } } }, false],
    ["a bare key acts as `some`", { labels: { name: { eq: "two" } } }, false],
    ["`length` counts", { labels: { length: { eq: 1 } } }, true],
  ])("%s", (_name, filter, matches) => {
    expect(matchesFilter(issue, filter)).toBe(matches);
  });
});

describe("requests", () => {
  it.each([
    ["a key as Bearer", () => `Bearer ${server.apiKey}`, 401],
    ["an OAuth token bare", () => "lin_oauth_x", 401],
    ["an OAuth token as Bearer", () => "Bearer lin_oauth_x", 200],
    ["nothing", () => "", 401],
  ])("with %s are answered or refused as Linear does", async (_name, authorization, status) => {
    expect((await send("{ viewer { id } }", {}, authorization())).status).toBe(status);
  });

  it("carry price and budget in their headers, with resets in epoch milliseconds", async () => {
    const { headers } = await send("{ issues(first: 50) { nodes { id title } } }");
    expect(headers.get("x-complexity")).toBe("60");
    expect(headers.get("x-ratelimit-requests-limit")).toBe("2500");
    expect(headers.get("x-ratelimit-requests-remaining")).toBe("2499");
    expect(Number(headers.get("x-ratelimit-requests-reset"))).toBeGreaterThan(Date.now() - 60_000);
  });

  it("above 10,000 points are refused, in words", async () => {
    const { status, body } = await send("{ issues(first: 250) { nodes { comments { nodes { id } } } } }");
    expect(status).toBe(400);
    expect(body.errors?.[0]).toMatchObject({ message: "Query too complex", extensions: { code: "INPUT_ERROR" } });
  });

  it("beyond the bucket are refused with HTTP 400 and Linear's marks", async () => {
    server.buckets.drain({ requests: 0 });
    const { status, body } = await send("{ viewer { id } }");
    expect(status).toBe(400);
    expect(body.errors?.[0]?.extensions).toMatchObject({ code: "RATELIMITED", type: "ratelimited", statusCode: 429 });
  });

  it.each([
    ["a page above 250", "{ issues(first: 251) { nodes { id } } }"],
    [
      "sort beside orderBy",
      "{ issues(first: 1, orderBy: updatedAt, sort: [{ priority: { order: Ascending } }]) { nodes { id } } }",
    ],
    ["a cursor that isn't there", '{ issues(first: 1, after: "gone") { nodes { id } } }'],
    ["an id that can't be one", '{ issues(filter: { id: { in: ["no id"] } }) { nodes { id } } }'],
    ["an issue that isn't there", '{ issue(id: "ENG-9") { id } }'],
  ])("with %s are an INPUT_ERROR with HTTP 200", async (_name, query) => {
    server.board.createIssue({ title: "a" });
    const { status, body } = await send(query);
    expect(status).toBe(200);
    expect(body.errors?.[0]?.extensions["code"]).toBe("INPUT_ERROR");
  });

  it("list by creation, newest first, without what is archived, and page by row", async () => {
    const rows = ["a", "b", "c"].map((title) => server.board.createIssue({ title }));
    server.board.archiveIssue(rows[1]?.id ?? "");
    const { body } = await send("{ issues(first: 5) { nodes { identifier } } }");
    expect(body.data?.["issues"]?.nodes.map((node) => node.identifier)).toEqual(["ENG-3", "ENG-1"]);
  });
});
