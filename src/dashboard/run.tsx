/** One run: its turns with what was said at their ends, its tool calls, and its timeline, which grows while it goes on. */
import { useEffect, useState } from "preact/hooks";
import type { Run, RunDetail, RunEvent, RunEvents } from "./data.ts";
import { formatCount, formatDuration, formatTokens, words } from "./format.ts";
import { messageOf, useApi, useServices } from "./hooks.ts";
import { Item } from "./item.tsx";
import { memo } from "./memo.ts";
import { Capped, Empty, Moment, Pending, Status, TableHead, toEnd } from "./parts.tsx";
import { mergeEvents, visibleEvents } from "./timeline.ts";

export function RunDetails({ run }: { readonly run: Run }) {
  const detail = useApi<RunDetail>(
    `/api/v1/runs/${encodeURIComponent(run.run_id)}`,
    `${run.outcome} ${run.turns} ${run.tokens.total}`,
  );
  return (
    <div class="run-details">
      {run.error !== null && <p class="said error">{run.error}</p>}
      {detail.value === null ? <Pending error={detail.error} /> : <Turns detail={detail.value} />}
      <h3>Timeline</h3>
      <Timeline runId={run.run_id} />
      {detail.value !== null && detail.value.tool_calls.length > 0 && <ToolCalls detail={detail.value} />}
    </div>
  );
}

function Turns({ detail }: { readonly detail: RunDetail }) {
  const changed = { true: "The workspace changed.", false: "The workspace did not change.", null: null };
  return (
    <>
      <p class="facts-line">
        {formatSpan(detail.started_at, detail.ended_at)} {changed[`${detail.changed}`]}{" "}
        {detail.thread_id !== null && (
          <>
            Thread <code>{detail.thread_id}</code>
          </>
        )}
      </p>
      <ol class="turns">
        {detail.turn_list.map((turn) => (
          <li key={turn.turn}>
            <p class="line">
              <span class="name">Turn {turn.turn}</span> <Status name={turn.status ?? "running"} />
              <span class="spacer" />
              <span class="number">{formatTokens(turn.tokens.total)} tokens</span>
            </p>
            {turn.error !== null && <p class="said error">{turn.error}</p>}
            {turn.final_message !== null && <p class="said">{turn.final_message}</p>}
          </li>
        ))}
      </ol>
    </>
  );
}

function formatSpan(startedAt: string, endedAt: string | null): string {
  return endedAt === null ? "Going on." : `Took ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt))}.`;
}

function ToolCalls({ detail }: { readonly detail: RunDetail }) {
  return (
    <details>
      <summary>Tool calls that the daemon carried out: {detail.tool_calls.length}</summary>
      <table class="cards">
        <TableHead columns={["Tool", toEnd("Turn"), "Result", toEnd("Time"), toEnd("Answer")]} />
        <tbody>
          {detail.tool_calls.map((call) => (
            <tr key={call.call_id}>
              <th scope="row">
                <code>{call.name}</code>
              </th>
              <td class="end number" data-label="Turn">
                {call.turn}
              </td>
              <td data-label="Result">
                <Status name={toolStatus(call.ok)} />
              </td>
              <td class="end number" data-label="Time">
                {call.duration_ms === null ? "–" : `${formatCount(call.duration_ms)} ms`}
              </td>
              <td class="end number" data-label="Answer">
                {call.bytes === null ? "–" : `${formatCount(call.bytes)} B`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function toolStatus(ok: boolean | null): string {
  if (ok === null) return "running";
  return ok ? "ok" : "failed";
}

/** What the timeline reads at once, and keeps at most while it grows. */
const PAGE = 200;

function useEvents(runId: string): { events: readonly RunEvent[] | null; error: string | null; earlier: () => void } {
  const { client, live } = useServices();
  const [events, setEvents] = useState<readonly RunEvent[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const path = `/api/v1/runs/${encodeURIComponent(runId)}/events?limit=${PAGE}`;
  function read(query: string): void {
    client
      .get<RunEvents>(path + query)
      .then((page) => setEvents((known) => mergeEvents(known ?? [], page.events)))
      .catch((thrown: unknown) => setError(messageOf(thrown)));
  }
  useEffect(() => {
    setEvents(null);
    read("");
    return live.onEvents((news) => {
      if (news === null) {
        read("");
        return;
      }
      const own = news.filter((event) => event.run_id === runId);
      if (own.length > 0) setEvents((known) => mergeEvents(known ?? [], own));
    });
  }, [runId, live, client]);
  return { events, error, earlier: () => read(`&before=${events?.[0]?.sequence ?? 0}`) };
}

function Timeline({ runId }: { readonly runId: string }) {
  const { events, error, earlier } = useEvents(runId);
  if (events === null || error !== null) return <Pending error={error} />;
  if (events.length === 0) return <Empty>The agent has told nothing yet.</Empty>;
  const newestFirst = visibleEvents(events).toReversed();
  return (
    <>
      <Capped rows={newestFirst}>
        {(shown) => (
          <ol class="timeline" reversed>
            {shown.map((event) => (
              <TimelineLine key={event.sequence} event={event} />
            ))}
          </ol>
        )}
      </Capped>
      {events.length >= PAGE && (
        <button type="button" class="quiet more" onClick={earlier}>
          Read earlier events
        </button>
      )}
    </>
  );
}

const TimelineLine = memo(({ event }: { readonly event: RunEvent }) => (
  <li class={`event ${event.item?.kind ?? ""}`}>
    <Moment at={event.at} />
    <span class="what">{words(event.event)}</span>
    <Item event={event} />
  </li>
));
