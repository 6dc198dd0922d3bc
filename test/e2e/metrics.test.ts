/** What monitoring reads: figures for Prometheus, and the channels for tracers. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, it } from "vitest";
import { PAUSE_KINDS } from "../../src/domain/claim.ts";
import { MOVE_TO_DONE } from "./board.ts";
import { TestDaemon } from "../support/test-daemon.ts";

/** The value of a sample, such as `symphony_claims{kind="running"}`. */
function sample(text: string, name: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
}

it("figures follow what happens, and nothing of a ticket is in them", async () => {
  await using my = await TestDaemon.make();
  await my.writeTicket("SECRET-TICKET-1");
  await my.writeScript({ "SECRET-TICKET-1": [[[MOVE_TO_DONE]]] });
  await my.writeWorkflow({ server: { metrics: true } });
  await my.start();
  await my.untilRunsEnded("SECRET-TICKET-1");
  const { status, text } = await my.ask("GET", "/api/v1/metrics");
  expect(status).toBe(200);
  expect(sample(text, 'symphony_runs_total{outcome="succeeded"}')).toBe(1);
  expect(sample(text, 'symphony_runs_total{outcome="failed"}')).toBe(0);
  expect(sample(text, 'symphony_claims{kind="blocked"}')).toBe(0);
  for (const kind of PAUSE_KINDS) expect(sample(text, `symphony_paused{kind="${kind}"}`), kind).toBe(0);
  expect(sample(text, 'symphony_tokens_total{kind="input"}')).toBeGreaterThan(0);
  expect(sample(text, "symphony_tracker_last_ok_timestamp_seconds")).toBeGreaterThan(1e9);
  expect(sample(text, 'symphony_info{version="0.0.0-test"}')).toBe(1);
  expect(sample(text, "process_resident_memory_bytes")).toBeGreaterThan(1e7);
  expect(text).not.toContain("SECRET-TICKET");
});

it("without server.metrics there are none, and the answer says how to have them", async () => {
  await using my = await TestDaemon.make();
  await my.writeWorkflow();
  await my.start();
  const { status, text } = await my.ask("GET", "/api/v1/metrics");
  expect(status).toBe(404);
  expect(text).toContain("server.metrics: true");
});

it("tracers hear each event with its effects", async () => {
  const heard: { event: { kind: string }; effects: readonly { kind: string }[] }[] = [];
  const hear = (message: unknown): void => void heard.push(message as (typeof heard)[number]);
  subscribe("symphony:event", hear);
  try {
    await using my = await TestDaemon.make();
    await my.writeWorkflow();
    await my.start();
    await my.until("a poll", ({ tracker }) => tracker.last_ok_at !== null);
    expect(heard.find(({ event }) => event.kind === "boot")?.effects.map(({ kind }) => kind)).toContain("poll");
  } finally {
    unsubscribe("symphony:event", hear);
  }
});
