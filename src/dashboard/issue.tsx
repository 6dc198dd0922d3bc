/** One ticket: what it does now, why it runs or doesn't, what can be done, and all of its runs. */
import { useState } from "preact/hooks";
import { IssueControls } from "./controls.tsx";
import type { BlockedRow, Claimed, Explanation, Run, RunningRow, Runs, Snapshot, WaitingRow } from "./data.ts";
import { formatTokens, phaseText, words } from "./format.ts";
import { useApi } from "./hooks.ts";
import { WorkspaceContext } from "./item.tsx";
import { Age, Capped, Empty, Moment, Pending, Section, Status, TableHead, TicketLink, Until } from "./parts.tsx";
import { QuestionBox } from "./question.tsx";
import { RunDetails } from "./run.tsx";

/** Runs that are read at first, and the most that one answer of the API holds. */
const RUNS_PAGE = 100;
const MOST_RUNS = 1000;

export function IssueView({ identifier, snapshot }: { readonly identifier: string; readonly snapshot: Snapshot }) {
  const path = encodeURIComponent(identifier);
  const version = versionOf(identifier, snapshot);
  const claimed = useApi<Claimed>(`/api/v1/issues/${path}`, version);
  const explanation = useApi<Explanation>(
    `/api/v1/issues/${path}/explain`,
    `${version} ${snapshot.tracker.last_ok_at ?? ""}`,
  );
  const [limit, setLimit] = useState(RUNS_PAGE);
  const runs = useApi<Runs>(`/api/v1/runs?issue=${path}&limit=${limit}`, version);
  const issue = claimed.value;
  return (
    <>
      <p class="crumb">
        <a href="#/">Overview</a>
      </p>
      <IssueHead identifier={identifier} issue={issue} explanation={explanation.value} />
      <IssueControls identifier={identifier} status={issue?.status ?? null} />
      {issue !== null && <Now issue={issue} snapshot={snapshot} />}
      <Section title="Why it runs or doesn't">
        {explanation.value === null ? <Unexplained error={explanation.error} /> : <Gates of={explanation.value} />}
      </Section>
      <Section title="Runs" count={runs.value?.total ?? 0}>
        <WorkspaceContext.Provider value={issue?.workspace.path ?? null}>
          {runs.value === null ? <Pending error={runs.error} /> : <RunList {...runs.value} />}
        </WorkspaceContext.Provider>
        {runs.value !== null && runs.value.next !== null && limit < MOST_RUNS && (
          <button type="button" class="quiet more" onClick={() => setLimit(MOST_RUNS)}>
            Read earlier runs
          </button>
        )}
      </Section>
    </>
  );
}

interface IssueHeadProps {
  readonly identifier: string;
  readonly issue: Claimed | null;
  readonly explanation: Explanation | null;
}

function rowOf(issue: Claimed | null): RunningRow | WaitingRow | BlockedRow | null {
  return issue === null ? null : (issue.running ?? issue.retry ?? issue.blocked);
}

function IssueHead({ identifier, issue, explanation }: IssueHeadProps) {
  const row = rowOf(issue);
  const status = issue?.status ?? explanation?.verdict ?? "not claimed";
  const path = issue?.workspace.path ?? null;
  return (
    <>
      <h1>
        <span class="identifier">{identifier}</span> {row?.issue_title ?? explanation?.title}
      </h1>
      <p class="line">
        <Status name={status} label={status === "retrying" ? "waiting" : words(status)} />
        <span>{row?.state ?? explanation?.state}</span>
        <TicketLink url={row?.issue_url ?? null} />
      </p>
      {path !== null && (
        <p class="workspace">
          Workspace <code>{path}</code>
        </p>
      )}
    </>
  );
}

/** Another text when what the API says of the ticket may have changed. */
function versionOf(identifier: string, { running, retrying, blocked, counts }: Snapshot): string {
  const wanted = identifier.toLowerCase();
  const rows = [...running, ...retrying, ...blocked];
  const row =
    rows.find((one) => one.issue_identifier === identifier) ??
    rows.find((one) => one.issue_identifier.toLowerCase() === wanted);
  return JSON.stringify(row === undefined ? counts : [row, counts.cleaning]);
}

function Unexplained({ error }: { readonly error: string | null }) {
  if (error !== null) return <Pending error={error} />;
  return (
    <Empty>
      It is neither claimed nor among the tickets of the last poll: not in scope, or not in an active state.
    </Empty>
  );
}

function Now({ issue, snapshot }: { readonly issue: Claimed; readonly snapshot: Snapshot }) {
  const { running, retry, blocked } = issue;
  return (
    <div class="now">
      {running !== null && (
        <>
          <p class="line">
            <span>
              Turn {running.turn_count} of {snapshot.limits.max_turns}, {phaseText(running.phase)}
            </span>
            <span>{formatTokens(running.tokens.total_tokens)} tokens</span>
            <span>
              started <Age since={running.started_at} /> ago, last event <Age since={running.last_event_at} /> ago
            </span>
          </p>
          {running.question === null ? (
            running.last_message !== null && <p class="said">{running.last_message}</p>
          ) : (
            <QuestionBox question={running.question} identifier={issue.issue_identifier} />
          )}
        </>
      )}
      {retry !== null && (
        <p>
          Waits ({words(retry.why)}),{" "}
          {retry.due_at === null ? (
            "due, needs a slot"
          ) : (
            <>
              due <Until at={retry.due_at} />
            </>
          )}
          .{retry.error !== null && <span class="clamp error">{retry.error}</span>}
        </p>
      )}
      {blocked !== null && <BlockedNow row={blocked} />}
    </div>
  );
}

function BlockedNow({ row }: { readonly row: BlockedRow }) {
  return (
    <>
      <p>
        Blocked ({words(row.why)}) for <Age since={row.since} />.
      </p>
      {row.question === null ? (
        <p class="said">{row.message}</p>
      ) : (
        <QuestionBox question={row.question} identifier={row.issue_identifier} />
      )}
    </>
  );
}

function Gates({ of: { gates } }: { readonly of: Explanation }) {
  const closed = gates.filter(({ pass }) => !pass);
  return (
    <>
      <p class="lead">
        {closed.length === 0 ? "Every gate is open." : `${closed.length} of ${gates.length} gates are closed.`}
      </p>
      <details open={closed.length > 0}>
        <summary>All gates</summary>
        <table class="cards">
          <TableHead columns={["Gate", "Result", "Looked at", "What would open it"]} />
          <tbody>
            {gates
              .toSorted((a, b) => Number(a.pass) - Number(b.pass))
              .map(({ gate, pass, value, mend }) => (
                <tr key={gate}>
                  <th scope="row">{words(gate)}</th>
                  <td data-label="Result">
                    <Status name={pass ? "ok" : "failed"} label={pass ? "open" : "closed"} />
                  </td>
                  <td class="wide" data-label="Looked at">
                    {value}
                  </td>
                  <td class="wide" data-label="Mend">
                    {mend ?? "–"}
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

function RunList({ runs, total }: Pick<Runs, "runs" | "total">) {
  const [chosen, setChosen] = useState<string | null>(null);
  if (runs.length === 0) return <Empty>It hasn't been run.</Empty>;
  // Until somebody chooses, the newest is shown.
  const open = chosen ?? runs[0]?.run_id;
  return (
    <Capped rows={runs} first={20}>
      {(shown) => (
        <ol class="runs">
          {shown.map((run, index) => (
            <li key={run.run_id}>
              <button
                type="button"
                class="run"
                aria-expanded={run.run_id === open}
                onClick={() => setChosen(run.run_id === open ? "" : run.run_id)}
              >
                <RunLine run={run} number={total - index} />
              </button>
              {run.run_id === open && <RunDetails run={run} />}
            </li>
          ))}
        </ol>
      )}
    </Capped>
  );
}

function RunLine({ run, number }: { readonly run: Run; readonly number: number }) {
  return (
    <>
      <span class="name">Run {number}</span>
      <Status name={run.outcome ?? "running"} />
      {run.class !== null && <span class="class">{words(run.class)}</span>}
      <span class="spacer" />
      <span class="number">{run.turns === 1 ? "1 turn" : `${run.turns} turns`}</span>
      <span class="number">{formatTokens(run.tokens.total)} tokens</span>
      <Moment at={run.started_at} />
    </>
  );
}
