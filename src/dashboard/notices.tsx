/** Pauses and problems, above every view: whoever reads on should know. */
import type { Snapshot } from "./data.ts";
import { words } from "./format.ts";
import { useLive } from "./hooks.ts";
import { Until } from "./parts.tsx";

/** Tickets that the tracker holds but nobody can work on: the first by name, and how many more. */
function leftOut({ malformed, malformed_tickets: tickets }: Snapshot["tracker"]): string | null {
  const [first] = tickets;
  if (first === undefined) return null;
  const more = malformed === 1 ? "" : ` And ${malformed - 1} more.`;
  return `${first.issue_identifier}, ${first.where}: ${first.reason}.${more}`;
}

export function Notices() {
  const snapshot = useLive((state) => state.snapshot);
  if (snapshot === null) return null;
  const { paused, mode, tracker, workflow, ledger, agent } = snapshot;
  const problems: readonly (readonly [string, string | null])[] = [
    ["Tracker", tracker.last_error?.message ?? null],
    ["Tickets left out", leftOut(tracker)],
    ["Workflow file", workflow.last_error?.message ?? null],
    ["Ledger", ledger.last_error?.message ?? null],
    ["Agent login", agent.login.state === "missing" ? agent.login.message : null],
    ["Agent sandbox", agent.sandbox.state === "broken" ? agent.sandbox.message : null],
  ];
  // What has paused the dispatch is told by the pause.
  const told = new Set(paused.map(({ message }) => message));
  const shown = problems.filter(([, message]) => message !== null && !told.has(message));
  if (paused.length === 0 && mode === "running" && shown.length === 0) return null;
  return (
    <ul class="notices">
      {mode !== "running" && (
        <li class="pause">
          <strong>{mode === "draining" ? "Draining." : "Stopping."}</strong> Nothing new starts; running agents go on to
          their ends.
        </li>
      )}
      {paused.map((pause) => (
        <li key={pause.kind} class="pause">
          <strong>Paused, {words(pause.kind)}.</strong> {pause.message}{" "}
          {pause.until !== null && (
            <>
              Ends <Until at={pause.until} />.
            </>
          )}
        </li>
      ))}
      {shown.map(([part, message]) => (
        <li key={part} class="problem">
          <strong>{part}.</strong> {message}
        </li>
      ))}
    </ul>
  );
}
