/** What people can ask and do while a daemon drains: it may take as long as the turns that still run. */
import { expect, test } from "vitest";
import { TestDaemon } from "../support/test-daemon.ts";

test("a daemon that drains tells so to whoever asks, and takes what a person does about its runs", async () => {
  await using my = await TestDaemon.make();
  await my.writeScript({ "*": [[[{ do: "hang" }]]] });
  await my.writeTicket("ONE-1");
  await my.writeWorkflow();
  await my.start();
  await my.untilInTurn("ONE-1");
  const stopped = my.daemon.stop();
  const { status, text } = await my.ask("GET", "/api/v1/state");
  expect([status, JSON.parse(text)]).toMatchObject([200, { mode: "stopping", counts: { running: 1 } }]);
  expect(await my.ask("POST", "/api/v1/issues/ONE-1/stop")).toMatchObject({ status: 202 });
  // Nothing else ends the turn before `shutdown.drain_ms`, half a minute.
  await my.untilRunsEnded("ONE-1");
  await stopped;
  expect(my.runs()).toMatchObject([{ outcome: "cancelled", class: "operator" }]);
});
