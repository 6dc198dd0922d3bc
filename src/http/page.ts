/** The plain page at `/`: the snapshot as tables, readable without a script. */
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { Json } from "./view.ts";

type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;

const STYLE = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884;vertical-align:top;overflow-wrap:anywhere}
caption{text-align:left;font-weight:600;padding:1rem 0 .3rem}.error{color:#c33}`;

interface Column {
  readonly title: string;
  readonly key: string;
}

const RUNNING: readonly Column[] = [
  { title: "Issue", key: "issue_identifier" },
  { title: "Title", key: "issue_title" },
  { title: "State", key: "state" },
  { title: "Turn", key: "turn_count" },
  { title: "Last event", key: "last_event" },
  { title: "Last message", key: "last_message" },
  { title: "Since", key: "started_at" },
];
const WAITING: readonly Column[] = [
  { title: "Issue", key: "issue_identifier" },
  { title: "Title", key: "issue_title" },
  { title: "Attempt", key: "attempt" },
  { title: "Due", key: "due_at" },
  { title: "Why", key: "why" },
  { title: "Error", key: "error" },
];
const BLOCKED: readonly Column[] = [
  { title: "Issue", key: "issue_identifier" },
  { title: "Title", key: "issue_title" },
  { title: "Why", key: "why" },
  { title: "What it needs", key: "message" },
  { title: "Since", key: "since" },
];

function rowsOf(snapshot: Json, key: string): readonly Json[] {
  const rows = snapshot[key];
  return Array.isArray(rows) ? (rows as readonly Json[]) : [];
}

/** Everything is text: tagged templates escape what tickets and agents wrote. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function table(caption: string, columns: readonly Column[], rows: readonly Json[]): Markup {
  if (rows.length === 0) return html`<p>${caption}: none</p>`;
  return html`<table>
    <caption>
      ${caption} (${rows.length})
    </caption>
    <thead>
      <tr>
        ${columns.map((column) => html`<th scope="col">${column.title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${columns.map((column) => html`<td>${cell(row[column.key])}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function health(snapshot: Json, key: string): Markup {
  const part = snapshot[key];
  const error = typeof part === "object" && part !== null && "last_error" in part ? part.last_error : null;
  return error === null ? html`<p>${key}: ok</p>` : html`<p class="error">${key}: ${cell(error)}</p>`;
}

/** The whole page as HTML. */
export function renderPage(snapshot: Json): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Symphony</title>
        <style>
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <h1>Symphony</h1>
        <p>As of ${cell(snapshot["generated_at"])}. The same as JSON: <a href="/api/v1/state">/api/v1/state</a></p>
        ${table("Running", RUNNING, rowsOf(snapshot, "running"))}
        ${table("Waiting", WAITING, rowsOf(snapshot, "retrying"))}
        ${table("Blocked", BLOCKED, rowsOf(snapshot, "blocked"))}
        ${rowsOf(snapshot, "paused").map((pause) => html`<p class="error">Paused: ${cell(pause["message"])}</p>`)}
        ${health(snapshot, "tracker")} ${health(snapshot, "workflow")} ${health(snapshot, "ledger")}
        <p>Totals: ${cell(snapshot["codex_totals"])}</p>
      </body>
    </html>`;
}
