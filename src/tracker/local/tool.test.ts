import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { captureLog } from "../../../test/support/captured-log.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { Tool, ToolResult } from "../../domain/tool.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Tracker } from "../port.ts";
import { createLocalTracker } from "./adapter.ts";

const OWN = "---\ntitle: Own\nstate: In Progress\ncreated_at: 2026-01-01\n---\n\nDo it.\n";

describe("the tool local_board", () => {
  let dir: TempDir;
  let tracker: Tracker;
  let tool: Tool;
  let own: Issue;

  const put = (name: string, text: string): Promise<void> => writeFile(join(dir.path, `${name}.md`), text);
  const read = (name: string): Promise<string> => readFile(join(dir.path, `${name}.md`), "utf8");
  const call = (args: unknown, signal = new AbortController().signal): Promise<ToolResult> =>
    tool.call(args, { issue: own, signal });

  async function answer(args: unknown): Promise<Record<string, unknown>> {
    const result = await call(args);
    expect(result.success, result.text).toBe(true);
    return JSON.parse(result.text) as Record<string, unknown>;
  }

  async function refusal(args: unknown): Promise<string> {
    const result = await call(args);
    expect(result.success, result.text).toBe(false);
    return (JSON.parse(result.text) as { error: { message: string } }).error.message;
  }

  beforeEach(async () => {
    dir = await makeTempDir();
    const base = makeSettings();
    const settings = { ...base, tracker: { ...base.tracker, provider: { path: dir.path, states: ["Human Review"] } } };
    tracker = await createLocalTracker({ settings, clock: systemClock, log: captureLog().log });
    const [first] = tracker.tools;
    if (first === undefined) throw new Error("the local tracker has one tool");
    tool = first;
    await put("ENG-007", OWN);
    const [issue] = await tracker.fetchIssuesByIds([issueId("ENG-007")]);
    if (issue === undefined) throw new Error("the ticket was just written");
    own = issue;
  });
  afterEach(() => dir.dispose());

  it("gets the run's own ticket with its comments and the states there are", async () => {
    await call({ action: "comment", body: "started" });
    expect(await answer({ action: "get" })).toMatchObject({
      identifier: "ENG-007",
      title: "Own",
      state: "In Progress",
      description: "Do it.",
      comments: [{ author: "agent", text: "started" }],
      earlier_comments: 0,
      states: ["Todo", "In Progress", "Done", "Closed", "Cancelled", "Canceled", "Duplicate", "Human Review"],
    });
  });

  it("bounds what it answers, and says what is left out", async () => {
    await put("ENG-2", `---\ntitle: a\nstate: Todo\n---\n${"x".repeat(50_000)}\n`);
    for (let n = 0; n < 4; n += 1) await call({ action: "comment", issue: "ENG-2", body: `${n}${"y".repeat(1500)}` });
    const result = await call({ action: "get", issue: "ENG-2" });
    expect(result.text.length).toBeLessThan(12_000);
    const ticket = JSON.parse(result.text) as {
      description: string;
      comments: { text: string }[];
      earlier_comments: number;
    };
    expect(ticket.description).toContain("[cut: 44000 more characters]");
    expect(ticket.comments.map(({ text }) => text[0])).toEqual(["2", "3"]);
    expect(ticket.earlier_comments).toBe(2);
  });

  it("moves to a known state in any letter case, in the settings' spelling", async () => {
    expect(await answer({ action: "move", state: " human REVIEW " })).toMatchObject({
      state: "Human Review",
      was: "In Progress",
    });
    expect(await read("ENG-007")).toBe(OWN.replace("In Progress", "Human Review"));
    const [moved] = await tracker.fetchIssuesByIds([own.id]);
    expect(moved?.state).toBe("Human Review");
  });

  it("refuses an unknown state and names those there are", async () => {
    const message = await refusal({ action: "move", state: "Shipped" });
    expect(message).toContain('no state "Shipped"');
    expect(message).toContain("Todo, In Progress, Done");
    expect(await read("ENG-007")).toBe(OWN);
  });

  it("comments on another ticket in the name of the run's own", async () => {
    await put("ENG-2", "---\ntitle: a\nstate: Todo\n---\n");
    await answer({ action: "comment", issue: "ENG-2", body: "see mine" });
    expect(await read("ENG-2")).toContain("by agent (working on ENG-007)\n\n> see mine");
  });

  it("keeps every comment of calls made side by side", async () => {
    const bodies = Array.from({ length: 12 }, (_, n) => `comment ${n}`);
    await Promise.all(bodies.map((body) => answer({ action: "comment", body })));
    const { comments } = (await answer({ action: "get" })) as { comments: { text: string }[] };
    expect(comments.map(({ text }) => text).toSorted()).toEqual(bodies.toSorted());
  });

  it("creates tickets with the next free identifiers, in the first active state", async () => {
    await put("eng-010", "malformed, but the number is taken");
    await put("ENG-9-old", "---\ntitle: a\nstate: Todo\n---\n");
    const made = await Promise.all(["one", "two"].map((title) => answer({ action: "create", title, body: "text" })));
    expect(made.map(({ identifier }) => String(identifier)).toSorted()).toEqual(["ENG-011", "ENG-012"]);
    const issues = await tracker.fetchIssuesByStates(["Todo"]);
    expect(
      issues
        .filter((issue) => issue.description === "text")
        .map((issue) => issue.title)
        .toSorted(),
    ).toEqual(["one", "two"]);
  });

  it("creates in a named state, and only in a known one", async () => {
    const { identifier } = await answer({ action: "create", title: "a", state: "human review" });
    expect(await read(String(identifier))).toContain("state: Human Review\n");
    expect(await refusal({ action: "create", title: "a", state: "Nowhere" })).toContain("use one of");
  });

  it("numbers a ticket whose own name has no number behind a dash", async () => {
    own = { ...own, identifier: "fix-login" };
    expect(await answer({ action: "create", title: "a" })).toMatchObject({ identifier: "fix-login-1" });
    expect(await answer({ action: "create", title: "b" })).toMatchObject({ identifier: "fix-login-2" });
  });

  it.each(["../ENG-2", "/etc/passwd", "..", ".hidden", "a/b", "a\\b", "x\0", ""])(
    "refuses the identifier %j",
    async (issue) => {
      for (const args of [{ action: "get" }, { action: "comment", body: "x" }, { action: "move", state: "Done" }]) {
        expect(await refusal({ ...args, issue })).toContain("is no ticket identifier");
      }
      expect(await readdir(dir.path)).toEqual(["ENG-007.md"]);
    },
  );

  it.each([
    [{ action: "get", issue: "ENG-404" }, /no ticket "ENG-404"/],
    [{ action: "comment" }, /needs a "body"/],
    [{ action: "comment", body: " \n" }, /needs a "body"/],
    [{ action: "comment", body: "x".repeat(60_001) }, /body: Too big/],
    [{ action: "move" }, /no state ""/],
    [{ action: "create" }, /needs a "title"/],
    [{ action: "create", title: "a", issue: "ENG-1" }, /create takes no "issue"/],
    [{ action: "move", state: "Done", body: "x" }, /move takes no "body"/],
    [{ action: "delete" }, /action: Invalid option/],
    [{ action: "get", force: true }, /Unrecognized key: "force"/],
    ["get", /expected object/],
  ])("says what is wrong with %j", async (args, message) => {
    expect(await refusal(args)).toMatch(message);
    expect(await read("ENG-007")).toBe(OWN);
  });

  it("says where a malformed ticket is broken, and leaves it alone", async () => {
    await put("ENG-2", "---\ntitle: a\n---\n");
    expect(await refusal({ action: "comment", issue: "ENG-2", body: "x" })).toMatch(
      /malformed at line 2: state is missing/,
    );
  });

  it.each([
    { action: "comment", body: "x" },
    { action: "move", state: "Done" },
    { action: "create", title: "a" },
  ])("changes nothing once the time of a call is up, before it or during it: $action", async (args) => {
    expect((await call(args, AbortSignal.abort(new Error("time is up")))).success).toBe(false);
    const time = new AbortController();
    const calling = call(args, time.signal);
    time.abort(new Error("time is up"));
    expect(await calling).toMatchObject({ success: false, text: expect.stringContaining("time is up") });
    expect(await read("ENG-007")).toBe(OWN);
    expect(await readdir(dir.path)).toEqual(["ENG-007.md"]);
  });

  it("tells calls that can change something from those that can't", () => {
    expect(["get", "comment", "move", "create", "nonsense"].map((action) => tool.canChange({ action }))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
  });
});
