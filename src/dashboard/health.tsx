/** Whether tracker, agent, workflow and ledger are well, and how much of the rate limits is used. */
import type { ComponentChildren } from "preact";
import type { Snapshot } from "./data.ts";
import { formatCount, formatDuration, formatTokens } from "./format.ts";
import { limitRows } from "./limits.ts";
import { Age, Section, Status, Until } from "./parts.tsx";

export function HealthPanel({ snapshot }: { readonly snapshot: Snapshot }) {
  return (
    <div class="pair">
      <Section title="Health">
        <Health snapshot={snapshot} />
      </Section>
      <Section title="Limits and totals">
        <Limits limits={snapshot.rate_limits} />
        <Totals snapshot={snapshot} />
      </Section>
    </div>
  );
}

function Health({ snapshot }: { readonly snapshot: Snapshot }) {
  const { tracker, agent, workflow, ledger, invariant_breaches: breaches } = snapshot;
  return (
    <dl class="facts">
      <Fact name="Tracker">
        <Status
          name={tracker.last_error === null ? "ok" : "failed"}
          label={tracker.last_error === null ? "ok" : "failing"}
        />{" "}
        {tracker.kind},{" "}
        {tracker.last_ok_at === null ? (
          "not read yet"
        ) : (
          <>
            read <Age since={tracker.last_ok_at} /> ago
          </>
        )}
        , next poll <Until at={tracker.next_poll_at} />
      </Fact>
      <Fact name="Agent">
        <Status
          name={agent.login.state}
          label={agent.login.state === "ok" ? "logged in" : `login ${agent.login.state}`}
        />{" "}
        {agent.version ?? "version unknown"}, sandbox {agent.sandbox.state}
      </Fact>
      <Fact name="Workflow">
        <Status name={workflow.last_error === null ? "ok" : "broken"} /> <code>{workflow.path}</code>, loaded{" "}
        <Age since={workflow.loaded_at} /> ago
      </Fact>
      <Fact name="Ledger">
        <Status name={ledger.last_error === null ? "ok" : "failed"} />
        {typeof breaches === "number" && breaches > 0 && ` ${formatCount(breaches)} broken invariants, see the log`}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Limits({ limits }: { readonly limits: unknown }) {
  const rows = limitRows(limits);
  if (rows.length === 0) return <p class="empty">No agent has told a rate limit yet.</p>;
  return (
    <dl class="facts">
      {rows.map(({ name, usedPercent, resetsAt }) => (
        <Fact key={name} name={name}>
          <meter min={0} max={100} low={75} high={90} optimum={0} value={usedPercent} aria-label={name} />{" "}
          <span class="number">{Math.round(usedPercent)} %</span> used
          {resetsAt !== null && (
            <>
              , resets <Until at={new Date(resetsAt).toISOString()} />
            </>
          )}
        </Fact>
      ))}
    </dl>
  );
}

function Totals({ snapshot }: { readonly snapshot: Snapshot }) {
  const totals = snapshot.codex_totals;
  return (
    <dl class="facts">
      <Fact name="All runs">
        <span class="number">{formatTokens(totals.total_tokens)}</span> tokens: {formatTokens(totals.input_tokens)} in (
        {formatTokens(totals.cached_input_tokens)} cached), {formatTokens(totals.output_tokens)} out, in{" "}
        {formatDuration(totals.seconds_running * 1000)} of work
      </Fact>
    </dl>
  );
}
