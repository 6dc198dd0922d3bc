/** `symphony status`: what the daemon does right now, asked over its control socket, once or for as long as somebody watches. */
import { z } from "zod";
import { readAnswer } from "./answer.ts";
import { askDaemon, type DaemonAddress } from "./control-client.ts";
import { showCount, showSpan } from "./figures.ts";
import { printJson, printLines } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { plainLine, textWidth } from "./terminal-text.ts";

export interface StatusOptions extends DaemonAddress {
  readonly json: boolean;
}

const issueSchema = z.object({ issue_identifier: z.string(), state: z.string() });
const problemSchema = z.object({ message: z.string(), at: z.string() }).nullable();

const bucketSchema = z.object({ limit: z.number(), remaining: z.number() }).nullable();
/** Figures of a tracker with hourly buckets; those of another tracker are left to `--json`. */
const usageSchema = z
  .object({
    requests: bucketSchema,
    complexity: bucketSchema,
    throttled_until: z.string().nullable(),
    sent: z.number(),
  })
  .nullable()
  .catch(null);

/** The part of the snapshot that the table shows; everything else may change without this command. */
const statusSchema = z.object({
  generated_at: z.string(),
  mode: z.string(),
  running: z.array(
    issueSchema.extend({
      phase: z.string(),
      turn_count: z.number(),
      started_at: z.string(),
      last_event_at: z.string(),
      last_message: z.string().nullable(),
      tokens: z.object({ total_tokens: z.number() }),
    }),
  ),
  retrying: z.array(
    issueSchema.extend({
      attempt: z.number().nullable(),
      due_at: z.string().nullable(),
      why: z.string(),
      error: z.string().nullable(),
    }),
  ),
  blocked: z.array(issueSchema.extend({ why: z.string(), message: z.string(), since: z.string() })),
  questions: z.array(z.object({ issue_identifier: z.string(), summary: z.string(), answered: z.boolean() })),
  paused: z.array(z.object({ kind: z.string(), until: z.string().nullable(), message: z.string() })),
  agent: z.object({ awaited: z.boolean() }),
  tracker: z.object({
    kind: z.string(),
    last_ok_at: z.string().nullable(),
    last_error: problemSchema,
    candidates_seen: z.number(),
    candidates_eligible: z.number(),
    malformed: z.number(),
    malformed_tickets: z.array(z.object({ issue_identifier: z.string(), where: z.string(), reason: z.string() })),
    usage: usageSchema,
  }),
  workflow: z.object({ path: z.string(), revision: z.string(), last_error: problemSchema }),
  ledger: z.object({ last_error: problemSchema }),
  codex_totals: z.object({ total_tokens: z.number(), seconds_running: z.number() }),
});

/** What is shown of a snapshot. */
export type Status = z.infer<typeof statusSchema>;

/** Reads a snapshot. Throws AppError for one of another version of the daemon that lacks what is shown. */
export function readStatus(snapshot: unknown): Status {
  return readAnswer(statusSchema, snapshot);
}

/** So that a board full of slips leaves room for what goes on. */
const MALFORMED_LINES = 5;
const TEXT_WIDTH = 60;
const RUNNING: readonly Column[] = [
  { title: "RUNNING", maxWidth: 24 },
  { title: "STATE" },
  { title: "PHASE" },
  { title: "TURN", align: "right" },
  { title: "TOKENS", align: "right" },
  { title: "AGE", align: "right" },
  { title: "QUIET", align: "right" },
  { title: "LAST MESSAGE", maxWidth: TEXT_WIDTH },
];
const WAITING: readonly Column[] = [
  { title: "WAITING", maxWidth: 24 },
  { title: "STATE" },
  { title: "ATTEMPT", align: "right" },
  { title: "DUE IN", align: "right" },
  { title: "WHY" },
  { title: "ERROR", maxWidth: TEXT_WIDTH },
];
const BLOCKED: readonly Column[] = [
  { title: "BLOCKED", maxWidth: 24 },
  { title: "STATE" },
  { title: "WHY" },
  { title: "SINCE (UTC)" },
  { title: "WHAT IT NEEDS", maxWidth: TEXT_WIDTH },
];

/** Prints the status; answers the exit code. Rejects with AppError daemon_unreachable. */
export async function status({ json, ...address }: StatusOptions): Promise<number> {
  const answer = await askDaemon(address, { method: "GET", path: "/api/v1/state" });
  if (json) printJson(answer);
  else {
    const shown = readStatus(answer);
    printLines(statusLines(shown, Date.parse(shown.generated_at)));
  }
  return 0;
}

/** The tables and the summary; ages are as of `now`, epoch ms. */
export function statusLines(shown: Status, now: number): readonly string[] {
  const age = (at: string): string => showSpan(Math.max(0, now - Date.parse(at)));
  return [
    ...sectionLines(
      RUNNING,
      shown.running.map((run) => [
        run.issue_identifier,
        run.state,
        run.phase,
        String(run.turn_count),
        showCount(run.tokens.total_tokens),
        age(run.started_at),
        age(run.last_event_at),
        run.last_message ?? "",
      ]),
    ),
    ...sectionLines(
      WAITING,
      shown.retrying.map((wait) => [
        wait.issue_identifier,
        wait.state,
        wait.attempt === null ? "-" : String(wait.attempt),
        wait.due_at === null ? "a slot" : showSpan(Math.max(0, Date.parse(wait.due_at) - now)),
        wait.why,
        wait.error ?? "",
      ]),
    ),
    ...sectionLines(
      BLOCKED,
      shown.blocked.map((held) => [held.issue_identifier, held.state, held.why, held.since, held.message]),
    ),
    ...(hasCutText(shown) ? ["Long texts are cut; symphony explain ISSUE shows them whole.", ""] : []),
    ...summaryLines(shown, age),
  ];
}

/** Whether a reason is longer than its column: those are what a person acts on. */
function hasCutText({ retrying, blocked }: Status): boolean {
  const texts = [...retrying.map(({ error }) => error ?? ""), ...blocked.map(({ message }) => message)];
  return texts.some((text) => textWidth(plainLine(text)) > TEXT_WIDTH);
}

/** What the last listing left out, and where it is mended. */
function malformedLines({ malformed, malformed_tickets: tickets }: Status["tracker"]): readonly string[] {
  const shown = tickets.slice(0, MALFORMED_LINES);
  const more = malformed - shown.length;
  return [
    ...shown.map(({ issue_identifier: issue, where, reason }) => `skipped ${issue}: ${where}: ${reason}`),
    ...(more > 0 ? [`skipped ${more} tickets more; symphony explain ISSUE says why`] : []),
  ];
}

function budgetLines({ kind, usage }: Status["tracker"]): readonly string[] {
  if (usage === null) return [];
  const left = [
    { unit: "requests", bucket: usage.requests },
    { unit: "points", bucket: usage.complexity },
  ].flatMap(({ unit, bucket }) =>
    bucket === null ? [] : [`${showCount(bucket.remaining)} of ${showCount(bucket.limit)} ${unit}`],
  );
  const sent = `${showCount(usage.sent)} requests sent`;
  return [
    `${kind} budget: ${left.length === 0 ? "not told yet" : `${left.join(" and ")} an hour left`}, ${sent}`,
    ...(usage.throttled_until === null ? [] : [`${kind} throttles us until ${usage.throttled_until}`]),
  ];
}

function sectionLines(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] {
  return rows.length === 0 ? [] : [...tableLines(columns, rows), ""];
}

/** A message of several lines, as a workflow file with several faults has, keeps them. */
function messageLines(title: string, message: string): readonly string[] {
  return message.split("\n").map((line) => `${title}: ${line}`);
}

/** What waits for a person, with the words that answer it. */
function questionLines({ questions }: Status): readonly string[] {
  return questions
    .filter(({ answered }) => !answered)
    .map(({ issue_identifier: issue, summary }) => `${issue} asks: ${summary} (symphony answer ${issue})`);
}

function summaryLines(shown: Status, age: (at: string) => string): readonly string[] {
  const { tracker, workflow, ledger, codex_totals: totals } = shown;
  const lines = [
    `${shown.running.length} running, ${shown.retrying.length} waiting, ${shown.blocked.length} blocked; ${shown.mode}`,
    `tracker ${tracker.kind}: ${tracker.candidates_seen} active tickets seen, ${tracker.candidates_eligible} free to start, ${
      tracker.last_ok_at === null ? "never read yet" : `read ${age(tracker.last_ok_at)} ago`
    }`,
    ...questionLines(shown),
    ...malformedLines(tracker),
    ...budgetLines(tracker),
    `workflow ${workflow.path} at revision ${workflow.revision}`,
    `${showCount(totals.total_tokens)} tokens and ${showSpan(totals.seconds_running * 1000)} of agents' time so far`,
  ];
  if (shown.agent.awaited) lines.push("nothing starts yet: the agent's login is being looked at");
  const problems = Object.entries({ tracker, workflow, ledger }).flatMap(([name, { last_error: problem }]) =>
    problem === null ? [] : [{ name, ...problem }],
  );
  for (const { kind, until, message } of shown.paused) {
    const cause = problems.find((problem) => problem.message === message);
    const why = cause === undefined ? message : `nothing new starts until the ${cause.name} error below is mended`;
    lines.push(...messageLines(`paused (${kind})${until === null ? "" : ` until ${until}`}`, why));
  }
  for (const { name, at, message } of problems) lines.push(...messageLines(`${name} error, ${age(at)} ago`, message));
  return lines.map(plainLine);
}
