/** `symphony explain ISSUE`: why a ticket runs or doesn't, gate by gate. */
import { z } from "zod";
import { readAnswer } from "./answer.ts";
import { askDaemon } from "./control-client.ts";
import type { ControlOptions } from "./control.ts";
import { printJson, printLines } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { plainLine } from "./terminal-text.ts";

const explanationSchema = z.object({
  issue_identifier: z.string(),
  title: z.string(),
  state: z.string(),
  verdict: z.string(),
  gates: z.array(z.object({ gate: z.string(), pass: z.boolean(), value: z.string(), mend: z.string().nullable() })),
});

type Shown = z.infer<typeof explanationSchema>;

const COLUMNS: readonly Column[] = [{ title: "" }, { title: "GATE" }, { title: "WHAT IS SEEN" }];

/** In words, by verdict. */
const VERDICTS: Readonly<Record<string, string>> = {
  running: "is running",
  waiting: "waits",
  blocked: "is blocked",
  cleaning: "has ended, and its workspace is being removed",
  ready: "may start: every gate is open",
  held: "can't start",
};

/** Prints the explanation; answers the exit code. Rejects with AppError `request_refused` for a ticket that the daemon doesn't know. */
export async function explain(issue: string, { json, ...address }: ControlOptions): Promise<number> {
  const path = `/api/v1/issues/${encodeURIComponent(issue)}/explain`;
  const answer = await askDaemon(address, { method: "GET", path });
  if (json) printJson(answer);
  else printLines(explanationLines(readAnswer(explanationSchema, answer)));
  return 0;
}

/** The verdict, every gate, and what would open those that are closed. */
export function explanationLines({ issue_identifier, title, state, verdict, gates }: Shown): readonly string[] {
  const closed = gates.filter(({ pass }) => !pass);
  return [
    plainLine(`${issue_identifier} ${VERDICTS[verdict] ?? verdict} (${state}): ${title}`),
    "",
    ...tableLines(
      COLUMNS,
      gates.map(({ gate, pass, value }) => [pass ? "ok" : "NO", gate, value]),
    ),
    ...(closed.length === 0 ? [] : [""]),
    ...closed.map(({ gate, mend }) => plainLine(`${gate}: ${mend ?? "nothing to do"}`)),
  ];
}
