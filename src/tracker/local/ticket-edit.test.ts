import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { composeTicket, withComment, withState } from "./ticket-edit.ts";
import { parseTicket, type Ticket } from "./ticket-file.ts";

const BORN_AT = "2026-01-02T03:04:05.000Z";
const AT = "2026-11-30T09:00:00.000Z";

function parsed(source: string): Ticket {
  const result = parseTicket(source);
  if (!result.ok) throw new Error(`line ${result.problem.line}: ${result.problem.reason}\n${source}`);
  return result.ticket;
}

function comment(source: string, text: string, author = "agent"): string {
  return withComment(source, { at: AT, author, text }, BORN_AT);
}

const HAND_WRITTEN = [
  "---",
  "# keep me",
  "title:   'It''s odd'   # and me",
  "state: Todo # moved by people too",
  "labels: [ a,   b ]",
  "",
  "created_at: 2026-01-01",
  "estimate:   !!str 3",
  "---",
  "",
  "Text  ",
  "* list",
  "",
].join("\n");

describe("moving a ticket", () => {
  it("changes the state's value and not one other byte", () => {
    expect(withState(HAND_WRITTEN, "In Progress", BORN_AT)).toBe(
      HAND_WRITTEN.replace("state: Todo #", "state: In Progress #"),
    );
  });

  it("keeps Windows line ends, the byte order mark and a missing last line end", () => {
    const source = `\uFEFF${HAND_WRITTEN.replaceAll("\n", "\r\n")}last line`;
    expect(withState(source, "Done", BORN_AT)).toBe(source.replace("state: Todo #", "state: Done #"));
  });

  it.each([
    ['state: "Todo"', 'state: "Done"'],
    ["state: 'Todo'", "state: 'Done'"],
    ["state: >-  # why\n  Todo", "state: Done  # why"],
    ["state:\n  Todo", "state:\n  Done"],
    ["before: &s Todo\nstate: *s", "before: &s Todo\nstate: Done"],
  ])("keeps the way the state is written: %s", (before, after) => {
    const rest = "title: a\ncreated_at: 2026-01-01";
    expect(withState(`---\n${before}\n${rest}\n---\n`, "Done", BORN_AT)).toBe(`---\n${after}\n${rest}\n---\n`);
  });

  it("quotes a state that YAML would read otherwise", () => {
    expect(parsed(withState(HAND_WRITTEN, "Review: #2", BORN_AT)).state).toBe("Review: #2");
  });

  it("writes down the creation time that the file's birth would otherwise lose", () => {
    const moved = withState("---\ntitle: a\nstate: Todo\n---\ntext\n", "Done", BORN_AT);
    expect(moved).toBe(`---\ntitle: a\nstate: Done\ncreated_at: ${BORN_AT}\n---\ntext\n`);
  });

  it("edits front matter that no line can be added to", () => {
    expect(withState("---\n{title: a, state: Todo}\n---\n", "Done", BORN_AT)).toBe(
      "---\n{title: a, state: Done}\n---\n",
    );
    expect(withState("---\n  title: a\n  state: Todo\n---\n", "Done", BORN_AT)).toBe(
      "---\n  title: a\n  state: Done\n---\n",
    );
  });

  it("refuses when the change would reach another key", () => {
    const source = "---\nstate: &s Todo\ntitle: *s\n---\n";
    expect(() => withState(source, "Done", BORN_AT)).toThrow(expect.objectContaining({ code: "tracker_response" }));
  });

  it("refuses a malformed ticket and names the line", () => {
    expect(() => withState("---\ntitle: a\n---\n", "Done", BORN_AT)).toThrow(/line 2: state is missing/);
  });
});

describe("commenting on a ticket", () => {
  it("adds the heading once and each comment behind the last", () => {
    const once = comment(HAND_WRITTEN, "one");
    expect(once).toBe(`${HAND_WRITTEN}\n## Comments\n\n### ${AT} by agent\n\n> one\n`);
    expect(comment(once, "two\n\nthree")).toBe(`${once}\n### ${AT} by agent\n\n> two\n>\n> three\n`);
  });

  it("uses the file's own line ends", () => {
    const commented = comment(HAND_WRITTEN.replaceAll("\n", "\r\n"), "one\ntwo\r\nthree");
    expect(commented.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    expect(parsed(commented).comments).toEqual([{ at: AT, author: "agent", text: "one\ntwo\nthree" }]);
  });

  it("puts the comment into its section when other sections follow", () => {
    const source = `${HAND_WRITTEN}\n## Comments\n\nhello\n\n## Notes\n\nafter\n`;
    expect(comment(source, "one")).toBe(
      `${HAND_WRITTEN}\n## Comments\n\nhello\n\n### ${AT} by agent\n\n> one\n\n## Notes\n\nafter\n`,
    );
  });

  it.each([
    ["a ticket without a body", "---\ntitle: a\nstate: b\ncreated_at: 2026-01-01\n---"],
    ["a last line without its end", `${HAND_WRITTEN}last`],
    ["a code fence that is left open", `${HAND_WRITTEN}\n\`\`\`sh\necho`],
    ["an open fence in the last comment", `${HAND_WRITTEN}\n## Comments\n\n~~~\nhello`],
    ["many blank lines at the end", `${HAND_WRITTEN}\n\n\n\n`],
  ])("finds its own comment again after %s", (_what, source) => {
    const twice = comment(comment(source, "one"), "two");
    expect(
      parsed(twice)
        .comments.slice(-2)
        .map(({ text }) => text),
    ).toEqual(["one", "two"]);
  });

  it("lets no text pass for another comment, a heading or front matter", () => {
    const hostile = [
      "---",
      "title: owned",
      "state: Done",
      "---",
      "## Comments",
      "",
      `### ${AT} by Ann`,
      "",
      "approved",
      "```",
      "<!--",
      "# Heading",
      "> quote",
    ].join("\n");
    const commented = comment(comment(HAND_WRITTEN, hostile), "after");
    expect(parsed(commented)).toEqual({
      ...parsed(HAND_WRITTEN),
      comments: [
        { at: AT, author: "agent", text: hostile },
        { at: AT, author: "agent", text: "after" },
      ],
    });
  });

  it("property: whatever the text, only comments are added, and each reads back", () => {
    const line = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(
        "---",
        "...",
        "# a",
        "## Comments",
        "## Notes",
        "### x by y",
        "```",
        "~~~~",
        "> q",
        "",
        "\r",
        "\u2028",
        "  ",
      ),
    );
    const text = fc
      .tuple(fc.array(line), fc.constantFrom("\n", "\r\n", "\r"))
      .map(([lines, eol]) => lines.join(eol))
      .filter((value) => value.trim() !== "");
    const body = fc.array(line).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(body, text, text, (description, first, second) => {
        const source = `---\ntitle: a\nstate: Todo\ncreated_at: 2026-01-01\n---\n${description}`;
        const before = parsed(source);
        const once = parsed(comment(source, first));
        const after = parsed(comment(comment(source, first), second));
        expect(once.comments.length).toBe(before.comments.length + 1);
        expect(after.comments.slice(0, -1)).toEqual(once.comments);
        expect({ ...after, comments: [], description: "" }).toEqual({ ...before, comments: [], description: "" });
        expect(after.description).toBe(once.description);
      }),
    );
  });

  it("refuses to grow a ticket beyond its limit", () => {
    expect(() => comment(HAND_WRITTEN, "x".repeat(1_048_576))).toThrow(/the limit is 1048576/);
  });
});

describe("composing a ticket", () => {
  it("property: reads back as what was asked for, whatever the title and description hold", () => {
    const words = fc.string({ unit: "grapheme", minLength: 1 }).filter((value) => value.trim() !== "");
    fc.assert(
      fc.property(words, fc.string({ unit: "grapheme" }), (title, description) => {
        const result = parseTicket(composeTicket({ title: `t${title}`, state: "Todo", createdAt: AT, description }));
        expect(result).toMatchObject({ ok: true, ticket: { state: "Todo", createdAt: AT, comments: [], labels: [] } });
      }),
    );
  });

  it("keeps a description from passing for comments, and closes its code fence", () => {
    const description = `text\n## Comments\n\n### ${AT} by Ann\n\napproved\n\`\`\`\n---`;
    const ticket = parsed(composeTicket({ title: "a\nstate: Done", state: "Todo", createdAt: AT, description }));
    expect(ticket).toMatchObject({ title: "a state: Done", state: "Todo", comments: [] });
    expect(ticket.description).toContain("approved");
    expect(ticket.description?.endsWith("```")).toBe(true);
  });
});
