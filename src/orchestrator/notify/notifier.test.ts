/** What is told to whom, when, and how: a real scheduler, a real receiver, and a clock of the test's own. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { captureLog, type CapturedLog } from "../../../test/support/captured-log.ts";
import { makeIssue, makeSettings } from "../../../test/support/issues.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { SchedulerDriver } from "../../../test/support/scheduler.ts";
import { until } from "../../../test/support/until.ts";
import { failed } from "../../domain/outcome.ts";
import { Notifier } from "./notifier.ts";

interface Told {
  readonly text: string;
  readonly delivery: string;
  readonly notices: readonly {
    readonly kind: string;
    readonly message: string;
    readonly issue: { identifier: string } | null;
  }[];
}

let server: Server;
let url: string;
let received: { readonly headers: IncomingMessage["headers"]; readonly raw: string; readonly told: Told }[];
/** What the receiver answers, in turn; 200 when there is nothing left. */
let answers: number[];
let driver: SchedulerDriver;
let clock: ManualClock;
let log: CapturedLog;
let notifier: Notifier;

const issue = makeIssue("ENG-7", { title: "Mend it, token-1234567890", url: "https://example.com/ENG-7" });

beforeEach(async () => {
  received = [];
  answers = [];
  server = createServer((request, response) => {
    let raw = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (raw += chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, raw, told: JSON.parse(raw) as Told });
      response.writeHead(answers.shift() ?? 200).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden`;
  driver = new SchedulerDriver();
  driver.boot();
  clock = new ManualClock();
  log = captureLog();
  notifier = make();
  await notifier.start();
  await gathered();
  await untilTold(1);
});
afterEach(async () => {
  await notifier.stop();
  await new Promise((closed) => server.close(closed));
});

function make(): Notifier {
  const settings = makeSettings({ rest: { notify: { webhooks: [url], secret: "s3cret" } } });
  const redact = (text: string): string => text.replaceAll("token-1234567890", "[redacted]");
  return new Notifier({ clock, log: log.log, settings: () => settings, state: () => driver.state, redact });
}

/** Lets the moment pass in which notices are gathered. */
async function gathered(): Promise<void> {
  await clock.advance(2_000);
}

function untilTold(count: number): Promise<unknown> {
  return until(`${count} messages`, () => received.length >= count, 10_000);
}

/** Runs the ticket and lets its run end in a failure that no retry mends. */
function block(): void {
  driver.dispatch(issue);
  notifier.changed();
  driver.endRun(issue, failed("config_refused", "codex.model: refused", { retryable: false }));
  notifier.changed();
}

/** The poll that is due comes to nothing. */
function failPoll(): void {
  driver.now = Math.max(driver.now, driver.state.nextPollAt);
  driver.send({ kind: "timer" });
  const failure = { code: "tracker_request", message: "connection refused", resetAt: null };
  driver.send({ kind: "poll_failed", poll: driver.state.polling ?? -1, failure });
}

describe("the notifier", () => {
  it("says that the daemon is up, signed, with a text that chat services show", () => {
    const [first] = received;
    expect(first?.told).toMatchObject({
      text: "the daemon for /nowhere/WORKFLOW.md is up",
      notices: [{ kind: "daemon_up", issue: null }],
    });
    const signature = createHmac("sha256", "s3cret")
      .update(first?.raw ?? "")
      .digest("hex");
    expect(first?.headers["symphony-signature"]).toBe(signature);
  });

  it("tells of a blocked ticket, with its reason and its link, and without a secret", async () => {
    block();
    await gathered();
    await untilTold(2);
    const [notice] = received[1]?.told.notices ?? [];
    expect(notice).toMatchObject({
      kind: "issue_blocked",
      issue: { identifier: "ENG-7", url: issue.url, title: "Mend it, [redacted]" },
    });
    expect(notice?.message).toContain("codex.model: refused");
    notifier.changed();
    await gathered();
    expect(received).toHaveLength(2);
  });

  it("gathers what happens together into one message", async () => {
    block();
    driver.send({ kind: "workflow_broken", message: "line 3" });
    notifier.changed();
    await gathered();
    await untilTold(2);
    expect(received[1]?.told.notices.map(({ kind }) => kind)).toEqual(["issue_blocked", "workflow_broken"]);
  });

  it("says nothing of a pause that is over before it was told, and tells of the end of one that was", async () => {
    driver.send({ kind: "workflow_broken", message: "line 3" });
    notifier.changed();
    driver.send({ kind: "workflow_mended" });
    notifier.changed();
    await gathered();
    driver.send({ kind: "workflow_broken", message: "line 4" });
    notifier.changed();
    await gathered();
    await untilTold(2);
    driver.send({ kind: "workflow_mended" });
    notifier.changed();
    await gathered();
    await untilTold(3);
    expect(received.slice(1).map(({ told }) => told.notices.map(({ kind }) => kind))).toEqual([
      ["workflow_broken"],
      ["pause_ended"],
    ]);
  });

  it("calls a tracker down after three failed polls, and up again after a good one", async () => {
    for (let count = 1; count <= 3; count += 1) {
      expect(received).toHaveLength(1);
      failPoll();
      notifier.changed();
      await gathered();
    }
    await untilTold(2);
    driver.tick([]);
    notifier.changed();
    await gathered();
    await untilTold(3);
    expect(received.slice(1).map(({ told }) => told.notices[0]?.kind)).toEqual(["tracker_down", "tracker_up"]);
  });

  it("tries again when the receiver can't take it, with the same delivery, and gives up on a refusal", async () => {
    answers = [503];
    block();
    await gathered();
    await untilTold(2);
    await until("a further try", async () => {
      await clock.advance(1_000);
      return received.length >= 3;
    });
    expect(received[2]?.told.delivery).toBe(received[1]?.told.delivery);
    answers = [400];
    driver.send({ kind: "workflow_broken", message: "line 3" });
    notifier.changed();
    await gathered();
    const warning = await until("a warning", () => log.warnings()[0]);
    expect(warning).toContain('"reason":"status 400","tries":1');
    expect(warning).not.toContain("hidden");
  });

  it("says at a stop that the daemon is down, and says at the next start what still holds", async () => {
    driver.send({ kind: "workflow_broken", message: "line 3" });
    await notifier.stop();
    expect(received.at(-1)?.told.notices.map(({ kind }) => kind)).toEqual(["daemon_down"]);
    notifier = make();
    await notifier.start();
    await gathered();
    await untilTold(3);
    expect(received.at(-1)?.told.notices.map(({ kind }) => kind)).toEqual(["daemon_up", "workflow_broken"]);
  });
});
