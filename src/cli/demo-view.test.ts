/** The demo's two faces: plain lines, and a table that stays in its place on a terminal. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { makeIssue } from "../../test/support/issues.ts";
import type { WaitingClaim } from "../domain/claim.ts";
import { describeActivity, describeChange, describeTicket, type TicketView } from "./demo-progress.ts";
import { createDemoView, ticketLines } from "./demo-view.ts";
import { textWidth } from "./terminal-text.ts";

const TICKET: TicketView = {
  identifier: "DEMO-1",
  title: "A title that is long enough to be cut on a narrow terminal",
  priority: 2,
  state: "Todo",
  terminal: false,
  waitsFor: [],
  claim: null,
  activity: null,
  runs: 1,
  turns: 2,
  tokens: 12_345,
};

/** A stream that says of itself what a terminal says; a real one can't be had in a test. */
function stream(terminal: { readonly columns: number; readonly rows: number } | null) {
  const through = new PassThrough({ encoding: "utf8" });
  const written = (): string => String(through.read() ?? "");
  const face = Object.assign(through, { isTTY: terminal !== null, ...terminal });
  return { written, stream: face as unknown as NodeJS.WriteStream };
}

/** What stands on the screen after the text, line by line; knows as much of a terminal as the view uses. */
function screen(text: string): readonly string[] {
  const lines: string[] = [""];
  let row = 0;
  // Escape sequences of the view, line ends, and everything else; the escape character is written as ^.
  for (const [part] of text.replaceAll("\u001b", "^").matchAll(/\^\[\??\d*[A-Za-z]|\r|\n|[^^\r\n]+/g)) {
    if (/^\^\[\d+A$/.test(part)) row -= Number(part.slice(2, -1));
    else if (part === "^[J") lines.splice(row, lines.length, "");
    else if (part === "\n") lines[(row += 1)] ??= "";
    else if (!part.startsWith("^") && part !== "\r") lines[row] = part;
  }
  return lines;
}

describe("on a terminal", () => {
  test("the table is painted over itself, and notes stay above it", () => {
    const { stream: out, written } = stream({ columns: 100, rows: 40 });
    const view = createDemoView(out, { TERM: "xterm" });
    view.note("first note");
    view.paint([TICKET], 0);
    view.change("DEMO-1", "is not said twice");
    view.note("second note");
    view.paint(
      [
        { ...TICKET, state: "Done", terminal: true },
        { ...TICKET, identifier: "DEMO-2" },
      ],
      0,
    );
    const painted = written();
    const lines = screen(painted);
    expect(lines.slice(0, 2)).toEqual(["first note", "second note"]);
    expect(lines[2]).toMatch(/^TICKET +TITLE +PRIO +STATE +RUNS +TURNS +TOKENS +NOW$/);
    expect(lines[3]).toMatch(/^DEMO-1 .* Done .* 12,345 {2}done$/);
    expect(lines.slice(4)).toEqual([expect.stringMatching(/^DEMO-2 /), ""]);
    view.close();
    expect(screen(painted + written())).toEqual(["first note", "second note", ""]);
  });

  test("no line is wider than the terminal, and the cursor comes back at the end", () => {
    const { stream: out, written } = stream({ columns: 60, rows: 40 });
    const view = createDemoView(out, {});
    view.paint([{ ...TICKET, waitsFor: ["x".repeat(200)], title: "名前".repeat(40) }], 0);
    const lines = screen(written());
    expect(lines).toHaveLength(3);
    expect(Math.max(...lines.map(textWidth))).toBe(59);
    view.close();
    expect(written().endsWith("\u001b[?25h")).toBe(true);
  });
});

describe.each([
  ["a pipe", null, {}],
  ["a dumb terminal", { columns: 80, rows: 40 }, { TERM: "dumb" }],
  ["a terminal that is too low for the table", { columns: 80, rows: 8 }, { TERM: "xterm" }],
])("on %s", (_name, terminal, env) => {
  test("changes are plain lines, with nothing for a terminal in them", () => {
    const { stream: out, written } = stream(terminal);
    const view = createDemoView(out, env);
    view.note("begins");
    view.paint([TICKET], 0);
    view.change("DEMO-1", "says \u001b[31mred\u001b[0m");
    view.close();
    expect(written()).toBe("begins\nDEMO-1  says \\x1b[31mred\\x1b[0m\n");
  });
});

test("the table at the end has the whole titles", () => {
  expect(ticketLines([{ ...TICKET, title: "A short one", priority: null }])).toEqual([
    "TICKET  TITLE        PRIO  STATE  RUNS  TURNS  TOKENS",
    "DEMO-1  A short one     -  Todo      1      2  12,345",
  ]);
});

describe("in words", () => {
  const issue = makeIssue("DEMO-1");
  const waiting: WaitingClaim = {
    kind: "waiting",
    attempt: 1,
    issue,
    dueAt: 5000,
    why: "failure",
    error: "the model answered 500",
    threadId: null,
    check: null,
    idle: { runs: 0, state: "todo" },
    inbox: [],
  };

  test("a ticket that nobody works on says what it waits for", () => {
    expect(describeTicket(TICKET, 0)).toBe("ready, waits for a slot");
    expect(describeTicket({ ...TICKET, waitsFor: ["DEMO-2"] }, 0)).toBe("waits for DEMO-2");
    expect(describeTicket({ ...TICKET, terminal: true }, 0)).toBe("done");
  });

  test("a failure is told with its cause and the time of the next try, once", () => {
    const text = "next try in 2 s, after: the model answered 500";
    expect(describeTicket({ ...TICKET, claim: waiting }, 3000)).toBe(text);
    expect(describeChange(null, waiting, 3000)).toBe(text);
    expect(describeChange(waiting, { ...waiting, dueAt: null }, 3000)).toBeNull();
  });

  test("the end of a clean-up is the end of the ticket", () => {
    expect(describeChange({ kind: "cleaning", path: "/w", issue, since: 0 }, null, 0)).toBe("done");
    expect(describeChange(waiting, null, 0)).toBeNull();
  });

  test("a command is shown without the shell around it", () => {
    const at = { at: 0, agentPid: null } as const;
    const ended = { exitCode: 0, durationMs: 1, outputTail: "" };
    const command = "/bin/bash -c 'git push'";
    expect(describeActivity({ ...at, kind: "command", command, ...ended })).toBe("$ git push");
    expect(describeActivity({ ...at, kind: "turn_started", turnId: "t" })).toBeNull();
  });
});
