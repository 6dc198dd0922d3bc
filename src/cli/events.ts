/** `symphony events ISSUE`: what the agent of a ticket did, from the ledger, and with `--follow` what it goes on to do. */
import { z } from "zod";
import { AppError } from "../domain/errors.ts";
import { issueId } from "../domain/ids.ts";
import { openLedgerReader, type LedgerReader } from "../ledger/queries.ts";
import { stateFiles } from "../ledger/state-files.ts";
import { findStateDirectory } from "../workflow/state-directory.ts";
import { readAnswer } from "./answer.ts";
import { followDaemon } from "./control-client.ts";
import type { ControlOptions } from "./control.ts";
import { showInstant } from "./figures.ts";
import { printJson, printLines } from "./output.ts";
import { plainLine } from "./terminal-text.ts";
import { listenForEnd } from "./watch.ts";

export interface EventsOptions extends ControlOptions {
  /** Of the past, at most. */
  readonly limit: number;
  readonly follow: boolean;
}

const eventSchema = z.looseObject({
  sequence: z.number(),
  issue_id: z.string(),
  at: z.string(),
  event: z.string(),
  message: z.string().nullable(),
});

type Shown = z.infer<typeof eventSchema>;

/** Prints the events, with `--json` all in one array, or one a line when it follows; answers the exit code. */
export async function events(issue: string, options: EventsOptions): Promise<number> {
  const directory = findStateDirectory(options.workflow, { flag: options.stateDir, env: process.env });
  const reader = openLedgerReader(stateFiles(directory).ledger);
  try {
    const id = findIssue(reader, issue);
    // Before the past is read: what comes in between is told twice, and shown once.
    const newest = reader.events({ limit: 1 }).at(-1)?.sequence ?? 0;
    const past = reader.events({ issue: id, limit: options.limit });
    if (!options.follow) {
      if (options.json) printJson(past);
      else printLines(past.length === 0 ? [`nothing is recorded of ${plainLine(issue)}`] : past.map(eventLine));
      return 0;
    }
    const print = (event: Shown): void => (options.json ? printJson(event) : printLines([eventLine(event)]));
    for (const event of past) print({ ...event });
    const last = past.at(-1)?.sequence ?? newest;
    await follow(options, newest, (event) => {
      if (event.issue_id === id && event.sequence > last) print(event);
    });
    return 0;
  } finally {
    reader.close();
  }
}

function findIssue(reader: LedgerReader, issue: string): string {
  const found = reader.issueByIdentifier(issue) ?? reader.issueByIdentifier(issue.toUpperCase());
  if (found !== null) return issueId(found.issue_id);
  throw new AppError(
    "request_refused",
    `the ledger ${reader.path} knows no ticket ${issue}: it was never claimed; symphony explain ${issue} says why`,
    { issue },
  );
}

async function follow(options: EventsOptions, after: number, see: (event: Shown) => void): Promise<void> {
  const stop = new AbortController();
  using listening = new DisposableStack();
  listening.use(listenForEnd(() => stop.abort()));
  for await (const { event, data } of followDaemon(options, after, stop.signal)) {
    if (event === "run_event") see(readAnswer(eventSchema, data));
  }
  if (!stop.signal.aborted) throw new AppError("daemon_unreachable", "the daemon has ended, so nothing more comes", {});
}

/** One event on one line, harmless for a terminal. */
export function eventLine({ at, event, message }: Pick<Shown, "at" | "event" | "message">): string {
  const opening = `${showInstant(at)}  ${event.padEnd(16)}`;
  return message === null ? opening.trimEnd() : `${opening}  ${plainLine(message)}`;
}
