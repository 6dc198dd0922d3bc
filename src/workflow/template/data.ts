/** What a template is rendered with: copies of the issue that it can't change, and samples that stand for every issue there may be. */
import { Drop } from "liquidjs";

import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";

/** The inputs of section 12: the issue with its snake_case fields, and null or the number of the retry. */
export interface PromptInputs {
  readonly issue: Issue;
  readonly attempt: number | null;
}

/** A ticket's text is anybody's: one that is longer than any person writes must not fill the agent's context. */
const MAX_DESCRIPTION_CHARS = 100_000;
const MAX_TITLE_CHARS = 1000;

function bounded(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars)}\n[cut here: ${text.length - maxChars} more characters are in the ticket]`;
}

/** A copy of its own for each rendering, with text of bounded size. */
export function promptData({ issue, attempt }: PromptInputs): Record<string, unknown> {
  const copy: Issue = structuredClone(issue);
  const description = copy.description === null ? null : bounded(copy.description, MAX_DESCRIPTION_CHARS);
  return { issue: { ...copy, title: bounded(copy.title, MAX_TITLE_CHARS), description }, attempt };
}

/** An adapter's own data: whatever a template looks for in it may be there. */
class AnyField extends Drop {
  override liquidMethodMissing(): AnyField {
    return this;
  }
}

const FULL: Issue = {
  id: issueId("sample-id"),
  identifier: "SAMPLE-1",
  title: "Sample",
  state: "Todo",
  description: "Sample description.",
  branch_name: "sample-1",
  url: "https://tracker.example/SAMPLE-1",
  assignee_id: "sample-user",
  priority: 1,
  labels: ["sample", "second"],
  blocked_by: [{ id: "sample-blocker", identifier: "SAMPLE-2", state: "Done" }],
  dispatchable: true,
  native_ref: null,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-02T00:00:00Z",
};

const BARE: Issue = {
  ...FULL,
  description: null,
  branch_name: null,
  url: null,
  assignee_id: null,
  priority: null,
  labels: [],
  blocked_by: [],
  created_at: null,
  updated_at: null,
};

const HALF: Issue = { ...BARE, blocked_by: [{ id: null, identifier: null, state: null }] };

/** What a template must be able to render before it is accepted, each with the words that say which it is. */
export function sampleInputs(): readonly { readonly what: string; readonly data: Record<string, unknown> }[] {
  const full = { ...FULL, native_ref: new AnyField() };
  const issues = [
    { what: "an issue with every field set", issue: full },
    { what: "an issue with no description, labels, blockers or other optional field", issue: BARE },
    { what: "an issue whose blocker is not known", issue: HALF },
  ];
  const attempts = [
    { what: "on its first run", attempt: null },
    { what: "on a retry", attempt: 1 },
  ];
  return issues.flatMap(({ what, issue }) =>
    attempts.map((sample) => ({ what: `${what}, ${sample.what}`, data: { issue, attempt: sample.attempt } })),
  );
}
