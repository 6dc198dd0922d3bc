/** The status on a whole screen, as the terminal gets it. */
import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { Screen, type Paper } from "./screen.ts";
import { readStatus, statusLines } from "./status.ts";
import { StatusPage } from "./watch.ts";

/** A terminal of that size, and all that was written to it. */
function makePaper(columns: number, rows: number): { readonly paper: Paper; readonly written: string[] } {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  return { paper: { write, columns, rows }, written };
}

function snapshot(clock: ManualClock, running: number): Readonly<Record<string, unknown>> {
  const now = new Date(clock.now()).toISOString();
  return {
    generated_at: now,
    mode: "running",
    running: Array.from({ length: running }, (_, index) => ({
      issue_identifier: `ENG-${index + 1}`,
      state: "Todo",
      phase: "turn",
      turn_count: 1,
      started_at: now,
      last_event_at: now,
      last_message: "clear \u001b[2J the screen",
      tokens: { total_tokens: 5 },
    })),
    retrying: [],
    blocked: [],
    questions: [],
    paused: [],
    agent: { awaited: false },
    tracker: {
      kind: "local",
      last_ok_at: now,
      last_error: null,
      candidates_seen: 1,
      candidates_eligible: 0,
      malformed: 0,
      malformed_tickets: [],
      usage: null,
    },
    workflow: { path: "WORKFLOW.md", revision: "r", last_error: null },
    ledger: { last_error: null },
    codex_totals: { total_tokens: 5, seconds_running: 1 },
  };
}

it("paints what fits, says what doesn't, and lets no text of an agent reach the terminal as a command", () => {
  const { paper, written } = makePaper(50, 8);
  const clock = new ManualClock();
  const page = new StatusPage(clock);
  const screen = new Screen(paper);
  page.see({ snapshot: snapshot(clock, 20) });
  page.paint(screen);
  const page1 = written.at(-1) ?? "";
  const lines = stripVTControlCharacters(page1).split("\r\n");
  expect(lines).toHaveLength(8);
  expect(lines[0]).toMatch(/^RUNNING +STATE +PHASE/);
  expect(lines.at(-2)).toMatch(/^\.\.\. and \d+ lines more$/);
  expect(lines.at(-1)).toBe("q ends");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(50);
  expect(page1).not.toContain("\u001b[2J");
  screen[Symbol.dispose]();
  expect(written.at(-1)).toBe("\u001b[?25h\u001b[?1049l");
});

it("ages go on between two snapshots, and a daemon that has gone is named while its last status stays", async () => {
  const { paper, written } = makePaper(120, 12);
  const clock = new ManualClock();
  const page = new StatusPage(clock);
  const screen = new Screen(paper);
  page.see({ snapshot: snapshot(clock, 1) });
  page.paint(screen);
  expect(written.at(-1)).toContain("read 0 ms ago");
  await clock.advance(65_000);
  page.see({ lost: "no daemon runs here" });
  page.paint(screen);
  expect(written.at(-1)).toContain("read 1 min 05 s ago");
  expect(written.at(-1)).toContain("no daemon runs here; q ends");
});

it("a terminal that doesn't know its size is taken for one of 80 by 24", () => {
  const { paper, written } = makePaper(0, 0);
  const clock = new ManualClock();
  const page = new StatusPage(clock);
  page.see({ snapshot: snapshot(clock, 1) });
  page.paint(new Screen(paper));
  const lines = stripVTControlCharacters(written.at(-1) ?? "").split("\r\n");
  expect([lines.length, lines.at(-1)]).toEqual([24, "q ends"]);
  expect(lines[1]).toMatch(/^ENG-1 +Todo +turn/);
});

it("says where a reason that doesn't fit can be read whole", () => {
  const clock = new ManualClock();
  const lines = (message: string) => {
    const held = {
      issue_identifier: "ENG-1",
      state: "Todo",
      why: "operator",
      message,
      since: new Date(0).toISOString(),
    };
    return statusLines(readStatus({ ...snapshot(clock, 0), blocked: [held] }), clock.now());
  };
  const hint = "Long texts are cut; symphony explain ISSUE shows them whole.";
  expect(lines("stopped by an operator")).not.toContain(hint);
  expect(lines("because ".repeat(10))).toContain(hint);
});
