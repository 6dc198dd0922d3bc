/** Prompt templates: what they may hold, what they render to, and that no ticket can bend them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { appErrorOf } from "../../test/support/workflow-files.ts";
import type { Issue } from "../domain/issue.ts";
import { parseTemplate, renderPrompt } from "./template.ts";

const ORIGIN = { path: "/w/WORKFLOW.md", line: 10 };

const ISSUE = makeIssue("ENG-7", {
  title: "Mend the login",
  description: "It fails.",
  labels: ["bug", "web"],
  priority: 2,
  blocked_by: [
    { id: "1", identifier: "ENG-1", state: "Done" },
    { id: null, identifier: null, state: null },
  ],
  native_ref: { team: { key: "ENG" } },
});

function render(source: string, overrides: Partial<Issue> = {}, attempt: number | null = null): string {
  return renderPrompt(parseTemplate(source, ORIGIN), { issue: { ...ISSUE, ...overrides }, attempt });
}

/** Code and message of a template that isn't accepted, without the usual beginning. */
function refusal(source: string): string {
  const error = appErrorOf(() => parseTemplate(source, ORIGIN));
  return `${error.code} ${error.message}`
    .replace("/w/WORKFLOW.md:", "")
    .replace("the prompt template is not usable: ", "");
}

describe("rendering", () => {
  test.each([
    ["fields", "{{ issue.identifier }}: {{ issue.title }} ({{ issue.state }})", "ENG-7: Mend the login (Todo)"],
    ["null as nothing", "[{{ issue.url }}{{ attempt }}{{ issue.assignee_id }}]", "[]"],
    ["numbers and flags", "{{ issue.priority }} {{ issue.dispatchable }}", "2 true"],
    ["a list as a person would write it", "{{ issue.labels }}", "bug, web"],
    ["records as JSON", "{{ issue.native_ref }}", '{"team":{"key":"ENG"}}'],
    ["filters", "{{ issue.labels | join: '/' | upcase }}", "BUG/WEB"],
    ["loops", "{% for l in issue.labels %}{{ forloop.index }}{{ l }} {% endfor %}", "1bug 2web"],
    ["loop modifiers", "{% for l in issue.labels reversed limit: 1 offset: 0 %}{{ l }}{% endfor %}", "bug"],
    ["blockers", "{% for b in issue.blocked_by %}<{{ b.identifier }} {{ b.state }}>{% endfor %}", "<ENG-1 Done>< >"],
    ["the adapter's own data", "{{ issue.native_ref.team.key }}", "ENG"],
    ["branches", "{% if issue.priority == 1 %}now{% elsif attempt %}again{% else %}calm{% endif %}", "calm"],
    ["case", "{% case issue.state %}{% when 'Todo', 'Backlog' or 'Ready' %}new{% else %}old{% endcase %}", "new"],
    ["assign and capture", "{% assign a = issue.title | size %}{% capture b %}{{ a }}!{% endcapture %}{{ b }}", "14!"],
    ["the liquid tag", "{% liquid\n assign a = issue.title\n echo a | upcase\n%}", "MEND THE LOGIN"],
    ["blank control", "a {%- if true -%} b {%- endif -%} c {{- issue.identifier -}} d", "abcENG-7d"],
    ["raw text", "{% raw %}{{ issue.nope | nope }}{% endraw %}", "{{ issue.nope | nope }}"],
    ["comments, whatever is in them", "{% comment %}{{ a b }}{% for x in y | z %}{% endcomment %}ok", "ok"],
  ])("%s", (_name, source, prompt) => {
    expect(render(source)).toBe(prompt);
  });

  test("attempt is null on the first run and a number on a retry", () => {
    const source = "{% if attempt %}Retry {{ attempt }}{% else %}First{% endif %}";
    expect([render(source), render(source, {}, 3)]).toEqual(["First", "Retry 3"]);
  });

  test("an empty body becomes a prompt with identifier, title and description", () => {
    const prompt = render("");
    for (const text of ["ENG-7", "Mend the login", "It fails."]) expect(prompt).toContain(text);
    for (const description of [null, "", "  "]) {
      expect(render("", { description })).toBe(
        "You are working on the issue ENG-7: Mend the login\n\nIt has no description.\n\n" +
          "Work in the current directory, which is this issue's own workspace.",
      );
    }
  });

  test("rendering changes neither the issue nor the next rendering", () => {
    const before = structuredClone(ISSUE);
    const template = parseTemplate("{% cycle 'a', 'b' %}{{ issue.labels | push: 'x' | size }}", ORIGIN);
    const first = renderPrompt(template, { issue: ISSUE, attempt: null });
    expect(first).toBe("a3");
    expect(renderPrompt(template, { issue: ISSUE, attempt: null })).toBe(first);
    expect(ISSUE).toEqual(before);
  });
});

describe("mistakes are found when the file is loaded", () => {
  const fields =
    "id, identifier, title, state, description, branch_name, url, assignee_id, priority, labels, blocked_by, dispatchable, " +
    "native_ref, created_at, updated_at";

  test.each([
    ["an unknown input", "{{ ticket.title }}", "ticket.title does not exist; known are issue, attempt"],
    ["an unknown field", "{{ issue.nope }}", `issue.nope does not exist; known are ${fields}`],
    ["a near miss", "{{ issue.titel }}", "issue.titel does not exist; did you mean title?"],
    [
      "a branch that is never taken",
      "{% if false %}{{ issue.nope2 | upcase }}{% endif %}",
      `issue.nope2 does not exist; known are ${fields}`,
    ],
    ["a filter's argument", "{{ issue.title | append: nope }}", "nope does not exist; known are issue, attempt"],
    [
      "a field of a text",
      "{{ issue.description.html }}",
      "issue.description.html does not exist: nothing is called html there",
    ],
    [
      "a field of a list",
      "{{ issue.blocked_by.identifier }}",
      "issue.blocked_by.identifier does not exist: nothing is called identifier there",
    ],
    [
      "a blocker's field in a loop",
      "{% for b in issue.blocked_by %}{{ b.name }}{% endfor %}",
      "b.name does not exist; known are id, identifier, state",
    ],
    [
      "the same, never taken",
      "{% if false %}{% for b in issue.blocked_by %}{{ b.state.x }}{% endfor %}{% endif %}",
      "b.state.x does not exist: nothing is called x there",
    ],
    ["an object's inside", "{{ issue.constructor }}", `issue.constructor does not exist; known are ${fields}`],
    ["a prototype", "{{ issue.__proto__ }}", `issue.__proto__ does not exist; known are ${fields}`],
    ["an unknown filter", "{{ issue.title | shout }}", "undefined filter: shout"],
    ["an unknown filter, never taken", "{% if false %}{{ issue.title | shout }}{% endif %}", "undefined filter: shout"],
  ])("%s is template_render_error", (_name, source, message) => {
    expect(refusal(source)).toBe(`template_render_error 10: ${message}`);
  });

  test("what only some issues have must be guarded", () => {
    expect(refusal("{{ issue.labels.first }}")).toBe(
      "template_render_error 10: undefined variable: issue.labels.first for an issue with no description, labels, blockers or " +
        "other optional field, on its first run; guard it with an if tag",
    );
    expect(render("{% if issue.labels.size > 0 %}{{ issue.labels.first }}{% endif %}", { labels: [] })).toBe("");
  });

  test("a name that only one branch sets is found by the samples", () => {
    expect(refusal("{% if attempt %}{% assign note = 'again' %}{% endif %}{{ note }}")).toContain(
      "undefined variable: note",
    );
  });

  test.each([
    ["a filter in a for tag", "{% for l in issue.labels | sort %}{% endfor %}", "a filter in a for tag has no effect"],
    [
      "a filter in a tablerow tag",
      "{% tablerow l in issue.labels | sort %}{% endtablerow %}",
      "a filter in a tablerow tag",
    ],
    ["a word behind an output", "{{ issue.title junk }}", '"issue.title junk" is not one value'],
    ["a comma behind an output", "{{ issue.title, }}", '"," is not understood here'],
    ["two values in one output", "{{ 'a' 'b' }}", "is not one value"],
    ["a pipe without a filter", "{{ issue.title | upcase | }}", "a filter's name is missing after |"],
    ["a dot without a field", "{{ issue. }}", "ends in a dot"],
    ["a word behind a condition", "{% if issue.title junk %}{% endif %}", "is not one value"],
    ["an operator without its right side", "{% if issue.title == %}{% endif %}", "is not one value"],
    ["one = in a condition", "{% if issue.state = 'Todo' %}{% endif %}", 'expected "|" before filter'],
    ["a word behind elsif", "{% if true %}{% elsif issue.title junk %}{% endif %}", "is not one value"],
    ["a word behind when", "{% case issue.state %}{% when 'a' junk %}{% endcase %}", '"junk" is not understood here'],
    ["a word behind assign", "{% assign a = issue.title junk %}", "is not one value"],
    ["a word behind capture", "{% capture a junk %}{% endcapture %}", '"junk" is not understood here'],
    ["a word behind for", "{% for l in issue.labels junk %}{% endfor %}", '"junk" is not understood here'],
    ["a word behind cycle", "{% cycle 'a', 'b' junk %}", "is not one value"],
    ["a word behind endif", "{% if true %}{% endif junk %}", "unexpected"],
    ["a word in a liquid tag", "{% liquid\n echo issue.title junk\n%}", "is not one value"],
    ["an output that isn't closed", "{{ issue.title }", "not closed"],
    ["a tag that isn't closed", "{% if issue.title %}", "not closed"],
    ["an end without a beginning", "{% endif %}", 'tag "endif" not found'],
    ["an empty output", "{{ }}", "invalid value expression"],
  ])("%s is template_parse_error", (_name, source, message) => {
    const text = refusal(source);
    expect(text).toMatch(/^template_parse_error 1\d: /);
    expect(text).toContain(message);
  });

  test.each(["include", "render", "layout", "block", "increment", "decrement"])("the tag %s is not there", (name) => {
    expect(refusal(`{% ${name} 'x' %}`)).toBe(`template_parse_error 10: tag "${name}" not found`);
  });

  test("messages have the file's line", () => {
    expect(refusal("one\ntwo\n{{ nope }}")).toMatch(/^template_render_error 12: /);
    expect(refusal("one\n{{ issue.title junk }}")).toMatch(/^template_parse_error 11: /);
  });
});

describe("limits", () => {
  test.each([
    ["one endless loop", "{% for i in (1..2000000000) %}x{% endfor %}", "memory alloc limit exceeded"],
    [
      "loops in loops",
      "{% for i in (1..99999) %}{% for j in (1..99999) %}x{% endfor %}{% endfor %}",
      "render limit exceeded",
    ],
    [
      "text that doubles",
      "{% assign x = 'ab' %}{% for i in (1..60) %}{% assign x = x | append: x %}{% endfor %}",
      "limit exceeded",
    ],
  ])("%s ends as template_render_error", (_name, source, message) => {
    expect(refusal(source)).toMatch(/^template_render_error 10: /);
    expect(refusal(source)).toContain(message);
  });

  test("a prompt that is larger than an agent takes fails that run", () => {
    const template = parseTemplate("{% for l in issue.labels %}{{ issue.description }}{% endfor %}", ORIGIN);
    const issue = { ...ISSUE, description: "x".repeat(100_000), labels: Array.from({ length: 11 }, (_, n) => `l${n}`) };
    const error = appErrorOf(() => renderPrompt(template, { issue, attempt: null }));
    expect(error.code).toBe("template_render_error");
    expect(error.message).toContain("it renders to 1100000 characters for ENG-7, and an agent takes 1000000");
  });

  test("a description beyond reason is cut, and says so", () => {
    const prompt = render("{{ issue.description }}", { description: "x".repeat(100_003) });
    expect(prompt).toBe(`${"x".repeat(100_000)}\n[cut here: 3 more characters are in the ticket]`);
  });
});

describe("ticket text is data", () => {
  test("Liquid in a ticket stays text", () => {
    const hostile = "{{ issue.id }}{% for i in (1..9) %}x{% endfor %}{% raw %}{{ nope | nope }}{% assign issue = 1 %}";
    expect(render("{{ issue.title }}|{{ issue.description | strip }}", { title: hostile, description: hostile })).toBe(
      `${hostile}|${hostile}`,
    );
  });

  test("whatever text a ticket holds, it comes out as it went in", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.string()), (description, labels) => {
        const prompt = render("<{{ issue.description }}|{{ issue.labels | join: ',' }}>", { description, labels });
        expect(prompt).toBe(`<${description}|${labels.join(",")}>`.toWellFormed());
      }),
    );
  });

  test("a fence has a mark that its text can't hold, and differs each time", () => {
    const source = "{{ issue.description | fence: 'description' }}";
    const first = render(source);
    const mark = /^----- begin description ([0-9a-f]{16}) -----\n/.exec(first)?.[1] ?? "";
    expect(first).toBe(`----- begin description ${mark} -----\nIt fails.\n----- end description ${mark} -----`);
    expect(render(source, { description: first })).not.toContain(`${mark} -----\n----- end description ${mark}`);
    expect(render(source, { description: first }).split("\n").at(-1)).not.toContain(mark);
  });

  test("there is no fence around nothing", () => {
    expect(render("[{{ issue.description | fence }}]", { description: null })).toBe("[]");
    expect(render("{{ issue.title | fence }}")).toMatch(/^----- begin text [0-9a-f]{16} -----\nMend the login\n/);
  });

  test("half a surrogate pair becomes a character that every JSON parser takes", () => {
    expect(render("{{ issue.title }}", { title: "a\uD83D" })).toBe("a\uFFFD");
  });
});
