import { createHmac } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { captureLog, type CapturedLog } from "../../test/support/captured-log.ts";
import { fakeView } from "../../test/support/fake-view.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { makeTempDir } from "../../test/support/temp-dir.ts";
import type { SessionEvent } from "../tracker/port.ts";
import { WebhookVerifier } from "../tracker/linear/webhook.ts";
import { ApiServer } from "./server.ts";

const SECRET = "the-signing-secret";
const MIB = 1024 * 1024;

let clock: ManualClock;
let log: CapturedLog;
let server: ApiServer;
let wakes: number;
let sessionEvents: SessionEvent[];
let removeDir: () => Promise<void>;

beforeEach(async () => {
  clock = new ManualClock();
  log = captureLog();
  wakes = 0;
  sessionEvents = [];
  const dir = await makeTempDir();
  removeDir = () => dir.dispose();
  server = new ApiServer({
    view: fakeView(),
    log: log.log,
    socketPath: join(dir.path, "control.sock"),
    tcp: { host: "127.0.0.1", port: 0, token: "the-token", openRefresh: false },
    webhook: {
      webhook: new WebhookVerifier(SECRET, clock),
      clock,
      wake: () => (wakes += 1),
      session: (event) => sessionEvents.push(event),
    },
  });
  await server.start();
});

afterEach(async () => {
  await server.stop();
  await removeDir();
});

function bodyOf(payload: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ type: "Issue", action: "update", webhookTimestamp: Date.now(), ...payload });
}

function sign(body: string): string {
  return createHmac("sha256", SECRET).update(body).digest("hex");
}

async function deliver(body: string, headers: Readonly<Record<string, string>> = { "linear-signature": sign(body) }) {
  const answer = await fetch(`${server.url}/webhooks/linear`, { method: "POST", body, headers });
  return { status: answer.status, body: await answer.json() };
}

describe("a delivery", () => {
  it("of an agent session is handed on, and wakes the poll as well", async () => {
    const body = bodyOf({
      type: "AgentSessionEvent",
      action: "prompted",
      agentSession: { id: "session-1", issueId: "issue-1" },
      agentActivity: { signal: null, content: { type: "prompt", body: "use the blue one" } },
    });
    expect(await deliver(body)).toEqual({ status: 200, body: { accepted: true, wakes: true } });
    const said = { sessionId: "session-1", issueId: "issue-1", text: "use the blue one", isStop: false };
    expect([sessionEvents, wakes]).toEqual([[{ kind: "prompt", ...said }], 1]);
  });

  it("that is signed wakes the poll, without a token and from any address", async () => {
    const body = bodyOf({ title: "größer → 🎉" });
    const headers = { "linear-signature": sign(body), host: "symphony.example.com", "sec-fetch-site": "cross-site" };
    expect(await deliver(body, headers)).toEqual({ status: 200, body: { accepted: true, wakes: true } });
    expect(wakes).toBe(1);
  });

  it("that comes again, or is about something else, is accepted and wakes nobody", async () => {
    const body = bodyOf();
    await deliver(body);
    const comment = bodyOf({ type: "Comment" });
    for (const other of [body, comment]) {
      expect(await deliver(other)).toEqual({ status: 200, body: { accepted: true, wakes: false } });
    }
    expect(wakes).toBe(1);
  });

  it("that isn't signed, or not rightly, is refused", async () => {
    const body = bodyOf();
    for (const headers of [{}, { "linear-signature": sign(`${body} `) }, { authorization: "Bearer the-token" }]) {
      expect(await deliver(body, headers)).toMatchObject({ status: 400, body: { error: { code: "bad_request" } } });
    }
    expect(wakes).toBe(0);
  });

  it("of some MiB is taken, and a larger one is refused unread", async () => {
    const large = bodyOf({ description: "x".repeat(4 * MIB) });
    expect((await deliver(large)).status).toBe(200);
    const tooLarge = bodyOf({ description: "x".repeat(5 * MIB) });
    expect((await deliver(tooLarge)).status).toBe(413);
    expect(wakes).toBe(1);
  });

  it("over another method is answered with the right one", async () => {
    const answer = await fetch(`${server.url}/webhooks/linear`);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("opens no other route", async () => {
    const body = bodyOf();
    const init = { method: "POST", body, headers: { "linear-signature": sign(body) } };
    expect((await fetch(`${server.url}/api/v1/refresh`, init)).status).toBe(401);
    expect((await fetch(`${server.url}/webhooks/linear/more`, init)).status).toBe(401);
  });
});

it("a flood of refused deliveries is a line a minute, with their number", async () => {
  for (let n = 0; n < 5; n += 1) await deliver(bodyOf(), {});
  expect(log.warnings()).toHaveLength(1);
  await clock.advance(60_000);
  await deliver(bodyOf(), {});
  expect(log.warnings()).toHaveLength(2);
  expect(log.warnings()[1]).toContain('"refused":5');
});
