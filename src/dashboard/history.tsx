/** What was done, and what it cost: by day, by ticket, and every ticket that was ever worked on. */
import { useMemo, useState } from "preact/hooks";
import { Chart } from "./chart.tsx";
import { costSeries, daysUpTo, durationSeries, outcomeSeries, tokenSeries } from "./chart-data.ts";
import type { Days, History, Snapshot, Usage } from "./data.ts";
import { formatCount, formatDollars, formatDuration, formatTokens } from "./format.ts";
import { messageOf, useApi, useServices } from "./hooks.ts";
import { Capped, Empty, IssueLink, Moment, Pending, Section, Status, TableHead, toEnd } from "./parts.tsx";

const SPANS = [7, 30, 90] as const;

export function HistoryView({ snapshot }: { readonly snapshot: Snapshot }) {
  const [span, setSpan] = useState<number>(30);
  // Figures of the past change when a run ends.
  const version = `${snapshot.counts.running} ${snapshot.counts.retrying} ${snapshot.counts.blocked}`;
  return (
    <>
      <div class="headline">
        <h1>History</h1>
        <div class="buttons" role="group" aria-label="Days shown">
          {SPANS.map((days) => (
            <button key={days} type="button" class="quiet" aria-pressed={span === days} onClick={() => setSpan(days)}>
              {days} days
            </button>
          ))}
        </div>
      </div>
      <Charts span={span} version={version} today={snapshot.generated_at.slice(0, 10)} />
      <ByIssue version={version} />
      <Issues version={version} />
    </>
  );
}

function minutes(value: number): string {
  return value === 0 ? "0" : formatDuration(value * 60_000);
}

function Charts({ span, version, today }: { readonly span: number; readonly version: string; readonly today: string }) {
  const told = useApi<{ days: Days }>(`/api/v1/days?days=${span}`, version);
  const usage = useApi<Usage>("/api/v1/usage?by=day", version);
  const days = useMemo(() => daysUpTo(Date.parse(today), span), [today, span]);
  const charts = useMemo(() => {
    if (told.value === null || usage.value === null) return null;
    return {
      tokens: tokenSeries(days, usage.value),
      cost: costSeries(days, usage.value),
      outcomes: outcomeSeries(days, told.value.days),
      durations: durationSeries(days, told.value.days),
    };
  }, [days, told.value, usage.value]);
  if (charts === null) return <Pending error={told.error ?? usage.error} />;
  return (
    <div class="charts">
      <Chart title="Tokens per day" days={days} series={charts.tokens} format={formatTokens} isStacked />
      {charts.cost !== null && (
        <Chart title="Cost per day" days={days} series={charts.cost} format={formatDollars} isStacked />
      )}
      <Chart title="Outcomes of runs" days={days} series={charts.outcomes} format={formatCount} isStacked />
      <Chart title="How long runs took" days={days} series={charts.durations} format={minutes} isStacked={false} />
    </div>
  );
}

type UsageRow = Usage["rows"][number];

function ByIssue({ version }: { readonly version: string }) {
  const { value, error } = useApi<Usage>("/api/v1/usage?by=issue", version);
  const rows = useMemo(() => value?.rows.toSorted((a, b) => b.total_tokens - a.total_tokens) ?? [], [value]);
  if (value === null) return <Pending error={error} />;
  return (
    <Section title="Tokens and cost by ticket" count={rows.length}>
      {rows.length === 0 ? (
        <Empty>Nothing has been run.</Empty>
      ) : (
        <Capped rows={rows} first={12}>
          {(shown) => <UsageTable rows={shown} total={value.total} hasCosts={rows.some(({ usd }) => usd !== null)} />}
        </Capped>
      )}
    </Section>
  );
}

interface UsageTableProps {
  readonly rows: readonly UsageRow[];
  readonly total: Usage["total"];
  readonly hasCosts: boolean;
}

/** The largest first, which the bars are measured by. */
function UsageTable({ rows, total, hasCosts }: UsageTableProps) {
  const most = Math.max(1, rows[0]?.total_tokens ?? 0);
  return (
    <table class="cards">
      <TableHead
        columns={[
          "Issue",
          { title: "Share", className: "bar-column" },
          toEnd("Tokens"),
          ...(hasCosts ? [toEnd("Cost")] : []),
          toEnd("Runs"),
          toEnd("Turns"),
          toEnd("Time"),
        ]}
      />
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <th scope="row">
              <IssueLink identifier={row.key} />
            </th>
            <td class="bar-column">
              <span class="bar" style={{ width: `${(row.total_tokens / most) * 100}%` }} />
            </td>
            <UsageCells sums={row} hasCosts={hasCosts} />
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">All</th>
          <td class="bar-column" />
          <UsageCells sums={total} hasCosts={hasCosts} />
        </tr>
      </tfoot>
    </table>
  );
}

function UsageCells({ sums, hasCosts }: { readonly sums: Usage["total"]; readonly hasCosts: boolean }) {
  const cells: readonly (readonly [string, string])[] = [
    ["Tokens", formatTokens(sums.total_tokens)],
    ...(hasCosts ? [["Cost", formatDollars(sums.usd)] as const] : []),
    ["Runs", formatCount(sums.runs)],
    ["Turns", formatCount(sums.turns)],
    ["Time", formatDuration(sums.seconds_running * 1000)],
  ];
  return (
    <>
      {cells.map(([name, text]) => (
        <td key={name} class="end number" data-label={name}>
          {text}
        </td>
      ))}
    </>
  );
}

const HISTORY = "/api/v1/history?limit=50";

function Issues({ version }: { readonly version: string }) {
  const { client, say } = useServices();
  const first = useApi<History>(HISTORY, version);
  const [later, setLater] = useState<{ issues: History["issues"]; next: string | null } | null>(null);
  if (first.value === null) return <Pending error={first.error} />;
  const seen = new Set(first.value.issues.map(({ issue_id }) => issue_id));
  const issues = [...first.value.issues, ...(later?.issues.filter(({ issue_id }) => !seen.has(issue_id)) ?? [])];
  const next = later === null ? first.value.next : later.next;
  async function more(): Promise<void> {
    try {
      const page = await client.get<History>(`${HISTORY}&before=${encodeURIComponent(next ?? "")}`);
      setLater({ issues: [...(later?.issues ?? []), ...page.issues], next: page.next });
    } catch (error) {
      say(messageOf(error), true);
    }
  }
  return (
    <Section title="Tickets worked on" count={issues.length}>
      {issues.length === 0 ? <Empty>No ticket has been claimed yet.</Empty> : <IssueTable issues={issues} />}
      {next !== null && (
        <button type="button" class="quiet more" onClick={() => void more()}>
          Show earlier ones
        </button>
      )}
    </Section>
  );
}

function IssueTable({ issues }: { readonly issues: History["issues"] }) {
  return (
    <table class="cards">
      <TableHead columns={["Issue", "State", toEnd("Runs"), "Last outcome", toEnd("Last seen")]} />
      <tbody>
        {issues.map((issue) => (
          <tr key={issue.issue_id}>
            <th scope="row" class="issue">
              <IssueLink identifier={issue.issue_identifier} /> <span class="title">{issue.title}</span>
            </th>
            <td data-label="State">{issue.state}</td>
            <td class="end number" data-label="Runs">
              {issue.runs}
            </td>
            <td data-label="Last outcome">{outcomeOf(issue)}</td>
            <td class="end" data-label="Last seen">
              <Moment at={issue.seen_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function outcomeOf({ runs, last_outcome }: History["issues"][number]) {
  return runs === 0 ? "–" : <Status name={last_outcome ?? "running"} />;
}
