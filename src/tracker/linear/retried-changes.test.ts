/** A change whose answer was lost is sent again as it was, and nothing is made twice. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { Fault } from "../../../test/fakes/linear/faults.ts";
import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { until } from "../../../test/support/until.ts";
import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { Tool } from "../../domain/tool.ts";

const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const COMMENT = "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success } }";

interface Body {
  readonly error?: { readonly code: string; readonly message: string; readonly in_doubt?: readonly Made[] };
  readonly made_before?: readonly Made[];
  readonly data?: unknown;
}
interface Made {
  readonly mutation: string;
  readonly id: string;
}

let bench: LinearBench;
let issue: Issue;
let other: Issue;
let tool: Tool;

beforeEach(async () => {
  bench = await startLinearBench();
  const { board } = bench.server;
  const ids = [board.createIssue({ title: "own" }), board.createIssue({ title: "other" })].map((row) =>
    issueId(row.id),
  );
  const issues = new Map((await bench.tracker.fetchIssuesByIds(ids)).map((one) => [one.title, one]));
  issue = issues.get("own") ?? expect.fail("no issue");
  other = issues.get("other") ?? expect.fail("no other issue");
  tool = bench.tracker.tools[0] ?? expect.fail("no tool");
});
afterEach(() => bench.dispose());

async function call(
  query: string,
  { variables = {}, of = issue, signal = new AbortController().signal }: CallOptions = {},
): Promise<Body & { readonly success: boolean }> {
  const { success, text } = await tool.call({ query, variables }, { issue: of, signal });
  return { success, ...(JSON.parse(text) as Body) };
}

interface CallOptions {
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly of?: Issue;
  readonly signal?: AbortSignal;
}

function comments(of: Issue = issue): readonly string[] {
  return bench.server.board.commentsOf(of.id).map((row) => row.body);
}

function commenting(body: string, more: object = {}): { readonly variables: Readonly<Record<string, unknown>> } {
  return { variables: { input: { issueId: issue.id, body, ...more } } };
}

describe("the same call after a lost answer", () => {
  it.each<[string, Fault]>([
    ["a reset connection", { kind: "reset" }],
    ["half an answer", { kind: "truncated" }],
    ["a gateway's error", { kind: "status", status: 504 }],
    ["a page of HTML", { kind: "html" }],
  ])("finds that the first went through: %s", async (_what, fault) => {
    bench.server.fail({ fault, times: 1 });
    const lost = await call(COMMENT, commenting("done"));
    expect(lost).toMatchObject({ success: false, error: { in_doubt: [{ mutation: "commentCreate" }] } });
    expect(lost.error?.message).toContain("Send the very same call again");
    expect(comments()).toEqual(["done"]);
    const again = await call(COMMENT, commenting("done"));
    expect(again).toMatchObject({ success: true, made_before: lost.error?.in_doubt });
    expect(comments()).toEqual(["done"]);
  });

  it("makes it where the first did not go through, under the same id", async () => {
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    const lost = await call(COMMENT, commenting("done"));
    bench.server.board.comments.clear();
    expect(await call(COMMENT, commenting("done"))).toMatchObject({ success: true, data: expect.anything() });
    expect([...bench.server.board.comments.keys()]).toEqual(lost.error?.in_doubt?.map(({ id }) => id));
  });

  it("keeps its id however often the answer is lost, and when the agent's time was up", async () => {
    bench.server.fail({ fault: { kind: "hang" } });
    const controller = new AbortController();
    const ended = call(COMMENT, { ...commenting("done"), signal: controller.signal });
    await until("the comment is there", () => comments().length === 1);
    controller.abort({ kind: "deadline" });
    const first = (await ended).error;
    expect(first).toMatchObject({ code: "cancelled", message: expect.stringContaining("very same call") });
    bench.server.heal();
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    expect((await call(COMMENT, commenting("done"))).error?.in_doubt).toEqual(first?.in_doubt);
    expect(await call(COMMENT, commenting("done"))).toMatchObject({ success: true, made_before: first?.in_doubt });
    expect(comments()).toEqual(["done"]);
  });

  it("is told apart from the same words of another issue, and from others of its own", async () => {
    const here =
      "mutation($id: String!, $body: String!) { commentCreate(input: { issueId: $id, body: $body }) { success } }";
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    await call(here, { variables: { id: issue.id, body: "done" } });
    await call(here, { variables: { id: other.id, body: "done" }, of: other });
    await call(here, { variables: { id: issue.id, body: "done!" } });
    expect([comments(), comments(other)]).toEqual([["done", "done!"], ["done"]]);
  });

  it("is a new one once it has been answered", async () => {
    for (let n = 0; n < 2; n += 1) await call(COMMENT, commenting("ping"));
    expect(comments()).toEqual(["ping", "ping"]);
  });

  it("stays in doubt while Linear can't say whether the first went through", async () => {
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    await call(COMMENT, commenting("done"));
    bench.server.fail({ operation: "SymphonyMadeComment", fault: { kind: "status", status: 503 }, times: 1 });
    expect((await call(COMMENT, commenting("done"))).success).toBe(false);
    expect(await call(COMMENT, commenting("done"))).toMatchObject({ success: true, made_before: [expect.anything()] });
    expect(comments()).toEqual(["done"]);
  });

  it("that was held back before it was sent is in no doubt", async () => {
    bench.server.fail({ fault: { kind: "ratelimited" } });
    const held = await call(COMMENT, commenting("done"));
    expect(held.error).not.toHaveProperty("in_doubt");
  });
});

function teamOf(ref: Issue["native_ref"]): string {
  const id = ref?.["team_id"];
  return typeof id === "string" ? id : expect.fail("no team");
}

describe("an id of ours", () => {
  /** The ids that the only new comments, issues and relations have. */
  const madeIds = (): readonly string[] => {
    const { comments: made, relations } = bench.server.board;
    const subs = [...bench.server.board.issues.values()].filter((row) => row.parentId === issue.id);
    return [...made.keys(), ...relations.keys(), ...subs.map((row) => row.id)];
  };

  it.each<[string, (the: Issue) => string, Readonly<Record<string, unknown>>?]>([
    ["a literal", ({ id }) => `mutation { commentCreate(input: { issueId: "${id}", body: "x" }) { success } }`],
    [
      "a literal with an id that is null",
      ({ id }) => `mutation { commentCreate(input: { issueId: "${id}", body: "x", id: null }) { success } }`,
    ],
    [
      "a literal with an id's variable that has no value",
      ({ id }) =>
        `mutation($id: String) { commentCreate(input: { issueId: "${id}", body: "x", id: $id }) { success } }`,
    ],
    [
      "a variable's default",
      ({ id }) =>
        `mutation($input: CommentCreateInput! = { issueId: "${id}", body: "x" }) { commentCreate(input: $input) { success } }`,
    ],
    [
      "a fragment",
      ({ id }) =>
        `mutation { ...F } fragment F on Mutation { commentCreate(input: { issueId: "${id}", body: "x" }) { success } }`,
    ],
    [
      "a sub-issue",
      ({ id, native_ref }) =>
        `mutation { issueCreate(input: { teamId: "${teamOf(native_ref)}", parentId: "${id}", title: "x" }) { success } }`,
    ],
    [
      "a relation",
      ({ id }) =>
        `mutation { issueRelationCreate(input: { issueId: "${id}", relatedIssueId: "ENG-2", type: related }) { success } }`,
    ],
  ])("is given to %s, and makes a lost call safe", async (_what, query) => {
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    const lost = await call(query(issue));
    expect(madeIds()).toEqual(lost.error?.in_doubt?.map(({ id }) => id));
    expect(madeIds()).toEqual([expect.stringMatching(UUID_4)]);
    expect(await call(query(issue))).toMatchObject({ success: true, made_before: lost.error?.in_doubt });
    expect(madeIds()).toHaveLength(1);
  });

  it("never replaces one that the agent has chosen", async () => {
    const id = "11111111-1111-4111-8111-111111111111";
    await call(COMMENT, commenting("x", { id }));
    expect(madeIds()).toEqual([id]);
  });

  it("is different for each field, and left out where two fields share a variable", async () => {
    const both = (a: string, b: string): string =>
      `mutation($input: CommentCreateInput!) { a: commentCreate(input: ${a}) { success } b: commentCreate(input: ${b}) { success } }`;
    const literal = `{ issueId: "${issue.id}", body: "literal" }`;
    expect((await call(both("$input", literal), commenting("variable"))).success).toBe(true);
    expect((await call(both("$input", "$input"), commenting("shared"))).success).toBe(true);
    expect(comments().toSorted()).toEqual(["literal", "shared", "shared", "variable"]);
  });

  it("makes the comment the run's own, though the agent asked for no id and got no answer", async () => {
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    const id = (await call(COMMENT, commenting("x"))).error?.in_doubt?.[0]?.id ?? expect.fail("no id");
    bench.server.requests.length = 0;
    await call(`mutation { commentUpdate(id: "${id}", input: { body: "y" }) { success } }`);
    expect(bench.server.requests.map((request) => request.rootFields)).toEqual([["commentUpdate"]]);
    expect(comments()).toEqual(["y"]);
  });

  it("is given in mode open too, and the agent is told of it in the modes that can change something", async () => {
    const told = async (mode: string): Promise<boolean> => {
      const tracker = await linearTrackerOn(bench.server, { tool: { mode } });
      tool = tracker.tools[0] ?? expect.fail("no tool");
      await tracker.close();
      return tool.description.includes("send the very same call again");
    };
    expect([await told("read"), await told("scoped"), await told("open")]).toEqual([false, true, true]);
    const tracker = await linearTrackerOn(bench.server, { tool: { mode: "open" } });
    tool = tracker.tools[0] ?? expect.fail("no tool");
    bench.server.fail({ fault: { kind: "reset" }, times: 1 });
    for (let n = 0; n < 2; n += 1) await call(COMMENT, commenting("x"));
    expect(comments()).toEqual(["x"]);
    await tracker.close();
  });
});
