/** A run as an agent session of Linear: a question is asked there and answered there, and a person stops the work from there. */
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LinearServer } from "../fakes/linear/server.ts";
import { startLinearServer } from "../fakes/linear/server.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { until } from "../support/until.ts";

const SECRET = "the-signing-secret";
const TOKEN = "lin_oauth_application";

let my: TestDaemon;
let linear: LinearServer;

beforeEach(async () => {
  linear = await startLinearServer({ oauthTokens: new Set([TOKEN]) });
  linear.board.viewer().app = true;
  my = await TestDaemon.make();
});

afterEach(async () => {
  await my[Symbol.asyncDispose]();
  await linear.close();
});

async function start(agentSessions = true): Promise<void> {
  await my.writeScript({
    "ENG-1": [
      [[{ do: "ask", about: "question", text: "Blue or green?" }, { do: "say", text: "So be it." }, { do: "hang" }]],
    ],
  });
  await my.writeWorkflow({
    tracker: {
      kind: "linear",
      provider: { endpoint: linear.url, project_slug: "demo", agent_sessions: agentSessions },
    },
    polling: { interval_ms: 3_600_000 },
    approvals: { questions: "ask" },
    server: { port: 0, webhooks: { linear: { secret: "$LINEAR_WEBHOOK_SECRET" } } },
  });
  await my.start({ env: { LINEAR_API_KEY: TOKEN, LINEAR_WEBHOOK_SECRET: SECRET } });
}

/** What stands in the only session, as `type: body`. */
function said(): readonly string[] {
  const [session] = linear.board.sessions.values();
  return (session?.activities ?? []).map(({ content }) => `${String(content["type"])}: ${String(content["body"])}`);
}

function untilSaid(text: string): Promise<unknown> {
  return until(`the session says ${text}`, () => said().some((line) => line.includes(text)));
}

async function prompt(body: string, signal: "stop" | null = null): Promise<void> {
  const [issue] = linear.board.issues.keys();
  const [session] = linear.board.sessions.keys();
  const text = JSON.stringify({
    type: "AgentSessionEvent",
    action: "prompted",
    webhookTimestamp: Date.now(),
    agentSession: { id: session ?? "none", issueId: issue },
    agentActivity: { signal, content: { type: "prompt", body } },
  });
  const signature = createHmac("sha256", SECRET).update(text).digest("hex");
  const headers = { "linear-signature": signature };
  const answer = await fetch(`${my.daemon.url}/webhooks/linear`, { method: "POST", body: text, headers });
  expect(answer.status).toBe(200);
}

describe("a run in Linear's own session", () => {
  it("asks there, goes on with the answer that comes from there, and is stopped from there", async () => {
    linear.board.createIssue({ title: "a" });
    await start();
    await untilSaid("elicitation: ");
    expect(said().at(-1)).toContain("Blue or green?");
    await prompt("Blue");
    await my.until("the answer has reached the agent", ({ running }) => {
      return running.some((row) => row["last_message"] === "So be it.");
    });
    await prompt("Stop", "stop");
    await my.until("it is blocked", ({ blocked }) => blocked.find((row) => row["issue_identifier"] === "ENG-1"));
    await untilSaid("error: The work has stopped");
    expect([...linear.board.sessions.values()].map(({ urls }) => urls)).toEqual([
      [{ label: "Symphony", url: `${my.daemon.url}/#/issues/ENG-1` }],
    ]);
  });

  it("can't be commanded from there where that isn't asked for", async () => {
    linear.board.createIssue({ title: "a" });
    await start(false);
    await my.until("it asks", ({ running }) => running.length === 1);
    await prompt("Stop", "stop");
    expect(my.snapshot().blocked).toEqual([]);
    expect(my.snapshot().running).toHaveLength(1);
    expect(linear.board.sessions.size).toBe(0);
  });
});
