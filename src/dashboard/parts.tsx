/** Small parts that several views share: status words, ages, links, lists that begin short. */
import type { ComponentChildren } from "preact";
import { useCallback, useState } from "preact/hooks";
import { formatDuration, formatMoment, formatUntil, safeUrl, words } from "./format.ts";
import { useServices, useTicking } from "./hooks.ts";
import { issueHref } from "./route.ts";

/** What a word means for whoever reads it; the colour only repeats it. */
export type Tone = "good" | "busy" | "wait" | "bad" | "calm";

const TONES: Readonly<Record<string, Tone>> = {
  running: "busy",
  turn: "busy",
  succeeded: "good",
  completed: "good",
  done: "good",
  ok: "good",
  live: "good",
  ready: "calm",
  retrying: "wait",
  waiting: "wait",
  connecting: "wait",
  blocked: "bad",
  needs_input: "bad",
  failed: "bad",
  stalled: "bad",
  timed_out: "bad",
  missing: "bad",
  broken: "bad",
  lost: "bad",
  locked: "bad",
};

export function Status({ name, label }: { readonly name: string; readonly label?: string }) {
  return <span class={`status ${TONES[name] ?? "calm"}`}>{label ?? words(name)}</span>;
}

/** How long ago, or how long it has been. */
export function Age({ since }: { readonly since: string }) {
  const at = Date.parse(since);
  const text = useTicking(useCallback((now: number) => formatDuration(now - at), [at]));
  return (
    <time class="number" dateTime={since} title={new Date(at).toLocaleString()}>
      {text}
    </time>
  );
}

/** How long until. */
export function Until({ at: iso }: { readonly at: string }) {
  const at = Date.parse(iso);
  const text = useTicking(useCallback((now: number) => formatUntil(at, now), [at]));
  return (
    <time class="number" dateTime={iso} title={new Date(at).toLocaleString()}>
      {text}
    </time>
  );
}

export function Moment({ at }: { readonly at: string }) {
  const { live } = useServices();
  return (
    <time class="number" dateTime={at} title={new Date(at).toLocaleString()}>
      {formatMoment(Date.parse(at), live.now())}
    </time>
  );
}

export function IssueLink({ identifier }: { readonly identifier: string }) {
  return (
    <a class="identifier" href={issueHref(identifier)}>
      {identifier}
    </a>
  );
}

/** To the tracker, where its address is one that a browser may follow. */
export function TicketLink({ url }: { readonly url: string | null }) {
  const href = safeUrl(url);
  if (href === null) return null;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      Ticket in the tracker
    </a>
  );
}

/** A column's title, with a class where it isn't plain text at the start. */
type ColumnTitle = string | { readonly title: string; readonly className: string };

/** The title of a column of numbers, which stand at the end. */
export function toEnd(title: string): ColumnTitle {
  return { title, className: "end" };
}

/** The head of a table. */
export function TableHead({ columns }: { readonly columns: readonly ColumnTitle[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const { title, className } = typeof column === "string" ? { title: column, className: undefined } : column;
          return (
            <th key={title} scope="col" class={className}>
              {title}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** Rows drawn at first; more are a click away. */
const FIRST_ROWS = 50;

/** A list that begins short. */
export function Capped<T>({
  rows,
  children,
  first = FIRST_ROWS,
}: {
  readonly rows: readonly T[];
  readonly children: (rows: readonly T[]) => ComponentChildren;
  readonly first?: number;
}) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? rows : rows.slice(0, first);
  return (
    <>
      {children(shown)}
      {rows.length > first && (
        <button type="button" class="quiet more" onClick={() => setAll(!isAll)} aria-expanded={isAll}>
          {isAll ? `Show the first ${first}` : `Show all ${rows.length}`}
        </button>
      )}
    </>
  );
}

/** A part of a page, under its heading. */
export function Section({
  title,
  count,
  children,
}: {
  readonly title: string;
  readonly count?: number;
  readonly children: ComponentChildren;
}) {
  const id = `section-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {title} {count !== undefined && <span class="count">{count}</span>}
      </h2>
      {children}
    </section>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** What there is to say while something is read, or couldn't be. */
export function Pending({ error }: { readonly error: string | null }) {
  return error === null ? <p class="empty">Reading…</p> : <p class="problem">Could not be read: {error}</p>;
}
