/** The demo's own material holds together: what the board and the agent read is valid, and tells the story that it should. */
import { expect, test } from "vitest";
import { parseScript } from "../agent/simulated/script.ts";
import { parseTicket } from "../tracker/local/ticket-file.ts";
import { DEMO_TICKETS, ticketFile } from "./demo-board.ts";
import { demoScript } from "./demo-script.ts";

test("every ticket of the demo is a valid ticket of the local board, with what it says", () => {
  for (const ticket of DEMO_TICKETS) {
    const parsed = parseTicket(ticketFile(ticket, "2026-11-30T09:00:00Z"));
    expect(parsed).toMatchObject({
      ok: true,
      ticket: { title: ticket.title, state: "Todo", priority: ticket.priority, labels: ticket.labels },
    });
  }
});

test("the simulated agent has a valid script for every ticket", () => {
  const { tickets } = parseScript(JSON.stringify(demoScript()), "script.json");
  expect(Object.keys(tickets).toSorted()).toEqual(DEMO_TICKETS.map((ticket) => ticket.identifier).toSorted());
});

test("there are six tickets: one is blocked, one needs a continuation turn, one fails first", () => {
  const { tickets } = parseScript(JSON.stringify(demoScript()), "script.json");
  expect(DEMO_TICKETS).toHaveLength(6);
  expect(DEMO_TICKETS.flatMap((ticket) => ticket.blockedBy)).toEqual(["DEMO-1"]);
  const runs = Object.values(tickets).flatMap((ticket) => ticket.runs);
  expect(runs.filter((run) => run.turns.length > 1)).toHaveLength(1);
  const fails = runs.filter((run) => run.turns.some((turn) => turn.steps.some((step) => step.do === "fail")));
  expect(fails).toHaveLength(1);
  expect(tickets["DEMO-4"]?.runs).toHaveLength(2);
});
