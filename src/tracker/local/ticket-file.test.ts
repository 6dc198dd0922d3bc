import { describe, expect, it } from "vitest";

import { parseTicket, type Ticket } from "./ticket-file.ts";

function parsed(source: string): Ticket {
  const result = parseTicket(source);
  if (!result.ok) throw new Error(`line ${result.problem.line}: ${result.problem.reason}`);
  return result.ticket;
}

const withKeys = (keys: string): string => `---\ntitle: a\nstate: Todo\n${keys}---\n`;

describe("reading a ticket", () => {
  it("reads every key, the description and the comments", () => {
    const ticket = parsed(
      [
        "---",
        "# a note for people",
        "title: Fix the login",
        "state: In Progress",
        "priority: 2",
        "labels: [Backend, urgent]",
        "blocked_by:",
        "  - ENG-1",
        "created_at: 2026-11-30T10:00:00+02:00",
        "url: https://example.test/ENG-7",
        "branch_name: fix/login",
        "assignee_id: ann",
        "estimate: 3",
        "---",
        "",
        "It fails.",
        "",
        "## Comments",
        "",
        "### 2026-11-30T11:00:00Z by Ann",
        "",
        "Looks *odd*.",
        "",
        "### 2026-11-30T12:00:00.000Z by agent",
        "",
        "> one",
        ">",
        "> two",
        "",
      ].join("\n"),
    );
    expect(ticket).toEqual({
      title: "Fix the login",
      state: "In Progress",
      priority: 2,
      labels: ["Backend", "urgent"],
      blockedBy: ["ENG-1"],
      createdAt: "2026-11-30T08:00:00.000Z",
      url: "https://example.test/ENG-7",
      branchName: "fix/login",
      assigneeId: "ann",
      description: "It fails.",
      comments: [
        { at: "2026-11-30T11:00:00.000Z", author: "Ann", text: "Looks *odd*." },
        { at: "2026-11-30T12:00:00.000Z", author: "agent", text: "one\n\ntwo" },
      ],
    });
  });

  it("takes values as they are written: numbers, zeros and words that YAML gives other meanings to", () => {
    const ticket = parsed("---\ntitle: 404\nstate: yes\nlabels: [007, on]\nblocked_by: [0012]\n---\n");
    expect(ticket).toMatchObject({ title: "404", state: "yes", labels: ["007", "on"], blockedBy: ["0012"] });
  });

  it("reads empty and null values as absent", () => {
    const ticket = parsed(withKeys("priority:\nlabels: null\nblocked_by: ~\ncreated_at:\nurl: ''\n"));
    expect(ticket).toMatchObject({
      priority: null,
      labels: [],
      blockedBy: [],
      createdAt: null,
      url: null,
      description: null,
    });
  });

  it("reads Windows line ends and a byte order mark", () => {
    const ticket = parsed(
      "\uFEFF---\r\ntitle: a\r\nstate: Todo\r\n---\r\n\r\none\r\ntwo\r\n\r\n## Comments\r\n\r\nhello\r\n",
    );
    expect(ticket).toMatchObject({ state: "Todo", description: "one\ntwo" });
    expect(ticket.comments).toEqual([{ at: null, author: null, text: "hello" }]);
  });

  it("keeps what stands behind the comments in the description", () => {
    const ticket = parsed(`${withKeys("")}before\n\n## Comments\n\nhello\n\n## Notes\n\nafter\n`);
    expect(ticket.description).toBe("before\n\n## Notes\n\nafter");
    expect(ticket.comments.map((comment) => comment.text)).toEqual(["hello"]);
  });

  it("takes no heading inside a code fence for the comments", () => {
    const body = "```md\n## Comments\n```\n\n~~~~\n## Comments\n```\n~~~\n~~~~\nend";
    expect(parsed(withKeys("") + body)).toMatchObject({ description: body, comments: [] });
  });

  it("loses none of what people write under the comments heading in a form of their own", () => {
    const ticket = parsed(`${withKeys("")}## comments ##\n\nfirst\n\n### On Monday\n\nsecond\n`);
    expect(ticket.comments).toEqual([
      { at: null, author: null, text: "first" },
      { at: null, author: null, text: "### On Monday\n\nsecond" },
    ]);
  });

  it.each([
    ["no front matter", "# Title\n", 1, /front matter/],
    ["front matter that doesn't end", "---\ntitle: a\n", 1, /front matter/],
    ["an empty file", "", 1, /front matter/],
    ["front matter that is no map", "---\n- a\n---\n", 2, /list of keys/],
    ["empty front matter", "---\n---\n", 2, /list of keys/],
    ["broken YAML", "---\ntitle: a\nstate: [\n---\n", 4, /./],
    ["a repeated key", "---\ntitle: a\nstate: b\ntitle: c\n---\n", 4, /unique/],
    ["a merge conflict", "---\n<<<<<<< HEAD\ntitle: a\n=======\n---\n", 2, /./],
    ["no title", "---\nstate: Todo\n---\n", 2, /title is missing/],
    ["a blank state", "---\ntitle: a\nstate: ' '\n---\n", 3, /state is blank/],
    ["a state that is a list", "---\ntitle: a\nstate: [Todo]\n---\n", 3, /state/],
    ["a priority that is no whole number", withKeys("priority: 1.5\n"), 4, /priority must be a whole number/],
    ["labels that are no list", withKeys("\nlabels: a, b\n"), 5, /labels must be a list/],
    ["a blocker that is a map", withKeys("blocked_by:\n  - a: b\n"), 4, /blocked_by must be text/],
    ["a time without a zone", withKeys("created_at: 2026-11-30T10:00:00\n"), 4, /created_at must be a day, or a time/],
    ["a day that isn't", withKeys("created_at: 2026-13-30\n"), 4, /created_at/],
  ])("names the line of %s", (_what, source, line, reason) => {
    const result = parseTicket(source);
    expect(result).toMatchObject({ ok: false, problem: { line, reason: expect.stringMatching(reason) } });
  });

  it("refuses aliases that multiply without end", () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `l${n + 1}: &l${n + 1} [${Array(9).fill(`*l${n}`).join(", ")}]`,
    );
    expect(parseTicket(withKeys(`l0: &l0 x\n${levels.join("\n")}\n`)).ok).toBe(false);
  });
});
