/** The first view: what runs, what waits, what needs a person, and whether all is well. */
import { useMemo } from "preact/hooks";
import type { BlockedRow, RunningRow, Snapshot, Usage, WaitingRow } from "./data.ts";
import { formatDollars, formatTokens, phaseText, words } from "./format.ts";
import { HealthPanel } from "./health.tsx";
import { useApi } from "./hooks.ts";
import { memo } from "./memo.ts";
import { Age, Capped, Empty, IssueLink, Section, Status, TableHead, Until, toEnd } from "./parts.tsx";
import { QuestionBox } from "./question.tsx";

export function Overview({ snapshot }: { readonly snapshot: Snapshot }) {
  const { running, retrying, blocked } = snapshot;
  const asking = running.filter(({ question }) => question !== null);
  const needs = <NeedsYou asking={asking} blocked={blocked} />;
  const isNeeded = asking.length + blocked.length > 0;
  return (
    <>
      <h1>Overview</h1>
      <Figures snapshot={snapshot} />
      {isNeeded && needs}
      <Running rows={running} maxTurns={snapshot.limits.max_turns} />
      <Waiting rows={retrying} />
      {!isNeeded && needs}
      <HealthPanel snapshot={snapshot} />
    </>
  );
}

function Figures({ snapshot }: { readonly snapshot: Snapshot }) {
  const { counts, limits, tracker, budget } = snapshot;
  const figures: readonly (readonly [string, string, string])[] = [
    ["Running", String(counts.running), `of ${limits.max_concurrent_agents} at a time`],
    ["Waiting", String(counts.retrying), "for a time or a slot"],
    ["Blocked", String(counts.blocked), questionNote(snapshot)],
    ["Candidates", String(tracker.candidates_seen), `${tracker.candidates_eligible} eligible at the last poll`],
    ["Tokens today", formatTokens(budget.tokens), dayNote(snapshot)],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value, note]) => (
        <div key={name} class={name === "Blocked" && value !== "0" ? "figure alert" : "figure"}>
          <dt>{name}</dt>
          <dd>
            <span class="value">{value}</span> <span class="note">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function questionNote({ running, blocked }: Snapshot): string {
  const open = [...running, ...blocked].filter(({ question }) => question !== null).length;
  if (open === 0) return "no question open";
  return open === 1 ? "1 question open" : `${open} questions open`;
}

function dayNote({ budget }: Snapshot): string {
  const limit = budget.tokens_per_day === null ? "" : `of ${formatTokens(budget.tokens_per_day)}`;
  const cost = budget.usd === null ? "" : formatDollars(budget.usd);
  const most = budget.usd === null || budget.usd_per_day === null ? "" : ` of ${formatDollars(budget.usd_per_day)}`;
  return [limit, cost + most].filter((part) => part !== "").join(", ") || "uncached, UTC day";
}

function useCosts(version: number): ReadonlyMap<string, number | null> {
  const { value } = useApi<Usage>("/api/v1/usage?by=issue", version);
  return useMemo(() => new Map(value?.rows.map(({ key, usd }) => [key, usd])), [value]);
}

/** Costs are asked for again when turns or runs began or ended. */
function turnsOf(rows: readonly RunningRow[]): number {
  return rows.reduce((sum, row) => sum + row.turn_count + 1, 0);
}

function Running({ rows, maxTurns }: { readonly rows: readonly RunningRow[]; readonly maxTurns: number }) {
  const costs = useCosts(turnsOf(rows));
  const hasCosts = rows.some((row) => typeof costs.get(row.issue_identifier) === "number");
  return (
    <Section title="Running" count={rows.length}>
      {rows.length === 0 ? (
        <Empty>No agent is at work.</Empty>
      ) : (
        <Capped rows={rows}>
          {(shown) => (
            <table class="cards">
              <TableHead
                columns={[
                  "Issue",
                  "Last message",
                  "Phase",
                  toEnd("Turn"),
                  toEnd("Tokens"),
                  ...(hasCosts ? [toEnd("Cost")] : []),
                  toEnd("Age"),
                ]}
              />
              <tbody>
                {shown.map((row) => (
                  <RunningLine
                    key={row.issue_id}
                    row={row}
                    maxTurns={maxTurns}
                    usd={hasCosts ? (costs.get(row.issue_identifier) ?? null) : undefined}
                  />
                ))}
              </tbody>
            </table>
          )}
        </Capped>
      )}
    </Section>
  );
}

interface RunningLineProps {
  readonly row: RunningRow;
  readonly maxTurns: number;
  /** Undefined where no costs are known at all. */
  readonly usd: number | null | undefined;
}

const RunningLine = memo(({ row, maxTurns, usd }: RunningLineProps) => (
  <tr>
    <th scope="row" class="issue">
      <IssueLink identifier={row.issue_identifier} /> <span class="title">{row.issue_title}</span>
    </th>
    <td class="wide message" data-label="Last message">
      {row.question === null ? (
        <span class="clamp">{row.last_message ?? (row.last_event === null ? "–" : words(row.last_event))}</span>
      ) : (
        <>
          <Status name="needs_input" label="asks" />{" "}
          <a href={`#/issues/${encodeURIComponent(row.issue_identifier)}`}>{row.question.summary}</a>
        </>
      )}
    </td>
    <td data-label="Phase">
      <Status
        name={row.phase}
        label={row.stopping === null ? phaseText(row.phase) : `stopping: ${words(row.stopping)}`}
      />
    </td>
    <td class="end number" data-label="Turn">
      {row.turn_count} <span class="of">of {maxTurns}</span>
    </td>
    <td class="end number" data-label="Tokens">
      {formatTokens(row.tokens.total_tokens)}
    </td>
    {usd !== undefined && (
      <td class="end number" data-label="Cost">
        {formatDollars(usd)}
      </td>
    )}
    <td class="end" data-label="Age">
      <Age since={row.started_at} />
    </td>
  </tr>
));

const WAITS: Readonly<Record<string, string>> = {
  continuation: "goes on after a whole run",
  failure: "after a failure",
  stalled: "after a stall",
  timed_out: "after a turn that took too long",
  usage_limit: "usage limit reached",
  auth: "the agent isn't logged in",
  day_budget: "the day's budget is spent",
  shutdown: "interrupted by a stop of the daemon",
  recovered: "found after a crash",
  operator_retry: "asked for by a person",
  unblocked: "unblocked",
  answered: "answered",
};

function Waiting({ rows }: { readonly rows: readonly WaitingRow[] }) {
  return (
    <Section title="Waiting" count={rows.length}>
      {rows.length === 0 ? (
        <Empty>Nothing waits for its time or for a slot.</Empty>
      ) : (
        <Capped rows={rows}>
          {(shown) => (
            <table class="cards">
              <TableHead columns={["Issue", "Why", toEnd("Attempt"), toEnd("Due")]} />
              <tbody>
                {shown.map((row) => (
                  <WaitingLine key={row.issue_id} row={row} />
                ))}
              </tbody>
            </table>
          )}
        </Capped>
      )}
    </Section>
  );
}

const WaitingLine = memo(({ row }: { readonly row: WaitingRow }) => (
  <tr>
    <th scope="row" class="issue">
      <IssueLink identifier={row.issue_identifier} /> <span class="title">{row.issue_title}</span>
    </th>
    <td class="wide" data-label="Why">
      {WAITS[row.why] ?? words(row.why)}
      {row.error !== null && <span class="clamp error">{row.error}</span>}
    </td>
    <td class="end number" data-label="Attempt">
      {row.attempt ?? "first"}
    </td>
    <td class="end" data-label="Due">
      {row.due_at === null ? "needs a slot" : <Until at={row.due_at} />}
    </td>
  </tr>
));

/** Questions of running agents come first: an agent waits, and their time runs out. */
function NeedsYou({
  asking,
  blocked,
}: {
  readonly asking: readonly RunningRow[];
  readonly blocked: readonly BlockedRow[];
}) {
  const rows = [...asking, ...blocked];
  return (
    <Section title="Needs you" count={rows.length}>
      {rows.length === 0 ? (
        <Empty>No ticket is blocked, and no agent has a question.</Empty>
      ) : (
        <Capped rows={rows} first={20}>
          {(shown) => (
            <ul class="blocked">
              {shown.map((row) =>
                "run_id" in row ? (
                  <AskingItem key={row.issue_id} row={row as RunningRow} />
                ) : (
                  <BlockedItem key={row.issue_id} row={row} />
                ),
              )}
            </ul>
          )}
        </Capped>
      )}
    </Section>
  );
}

const AskingItem = memo(({ row }: { readonly row: RunningRow }) => (
  <li>
    <p class="line">
      <IssueLink identifier={row.issue_identifier} /> <span class="title">{row.issue_title}</span>
      <span class="spacer" />
      <Status name="retrying" label="agent waits" />
    </p>
    {row.question !== null && <QuestionBox question={row.question} identifier={row.issue_identifier} />}
  </li>
));

const BlockedItem = memo(({ row }: { readonly row: BlockedRow }) => (
  <li>
    <p class="line">
      <IssueLink identifier={row.issue_identifier} /> <span class="title">{row.issue_title}</span>
      <span class="spacer" />
      <Status name="blocked" label={`blocked: ${words(row.why)}`} />{" "}
      <span class="since">
        for <Age since={row.since} />
      </span>
    </p>
    {row.question === null ? (
      <p class="said">{row.message}</p>
    ) : (
      <QuestionBox question={row.question} identifier={row.issue_identifier} />
    )}
  </li>
));
