/** Every ticket that the daemon knows, in the order in which they would start, with what keeps each one back. */
import { useMemo, useState } from "preact/hooks";
import type { Snapshot, Ticket, Tickets } from "./data.ts";
import { words } from "./format.ts";
import { useApi } from "./hooks.ts";
import { memo } from "./memo.ts";
import { Capped, Empty, IssueLink, Pending, Status, TableHead, toEnd } from "./parts.tsx";

export function TicketsView({ snapshot }: { readonly snapshot: Snapshot }) {
  const { tracker, counts } = snapshot;
  // Asked again when a poll was answered or a claim changed its kind.
  const version = `${tracker.last_ok_at ?? ""} ${Object.values(counts).join(" ")}`;
  const { value, error } = useApi<Tickets>("/api/v1/issues", version);
  const [wanted, setWanted] = useState("");
  const rows = useMemo(() => value?.issues.filter((ticket) => matches(ticket, wanted)) ?? [], [value, wanted]);
  return (
    <>
      <h1>Tickets</h1>
      <p class="lead">Claimed, or listed by the last poll; in the order in which they start.</p>
      <label class="field filter">
        Filter by identifier, title, state or status
        <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      {value === null && <Pending error={error} />}
      {value !== null && rows.length === 0 && <Empty>No ticket is like that.</Empty>}
      {rows.length > 0 && (
        <Capped rows={rows} first={100}>
          {(shown) => (
            <table class="cards">
              <caption class="unseen">{rows.length} tickets</caption>
              <TableHead columns={["Issue", "State", toEnd("Priority"), "Status", "Why it isn't running"]} />
              <tbody>
                {shown.map((ticket) => (
                  <TicketLine key={ticket.issue_id} ticket={ticket} />
                ))}
              </tbody>
            </table>
          )}
        </Capped>
      )}
    </>
  );
}

function matches({ issue_identifier, title, state, status }: Ticket, wanted: string): boolean {
  const text = [issue_identifier, title, state, status].join(" ").toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function reason({ status, gate }: Ticket): string {
  if (status === "running") return "";
  if (gate !== null) return words(gate);
  return status === "ready" ? "waits for a slot" : "";
}

const TicketLine = memo(({ ticket }: { readonly ticket: Ticket }) => (
  <tr>
    <th scope="row" class="issue">
      <IssueLink identifier={ticket.issue_identifier} /> <span class="title">{ticket.title}</span>
    </th>
    <td data-label="State">{ticket.state}</td>
    <td class="end number" data-label="Priority">
      {ticket.priority ?? "–"}
    </td>
    <td data-label="Status">
      <Status name={ticket.status} label={ticket.status === "retrying" ? "waiting" : ticket.status} />
    </td>
    <td data-label="Why">{reason(ticket) || "–"}</td>
  </tr>
));
