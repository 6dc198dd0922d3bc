/** A local board with the simulated agent, as files in a folder. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { simulatedAgentCommand } from "../../src/agent/simulated/command.ts";
import { openLedgerReader } from "../../src/ledger/queries.ts";
import type { RunJson } from "../../src/ledger/run-list.ts";

export interface BoardFiles {
  /** Identifiers of tickets, all in Todo. */
  readonly tickets: readonly string[];
  /** Script of the simulated agent by ticket (docs/simulated-agent.md); null = its built-in behaviour. */
  readonly script: Readonly<Record<string, unknown>> | null;
  /** Front matter lines beyond tracker, polling, workspace, codex.command and state. */
  readonly more?: string;
}

/** Writes WORKFLOW.md, board/ and the agent's script into `dir`; answers the workflow's path. */
export async function writeBoard(dir: string, files: BoardFiles): Promise<string> {
  await mkdir(join(dir, "board"), { recursive: true });
  await Promise.all(
    files.tickets.map((name, index) => {
      const createdAt = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString();
      const front = `title: Ticket ${name}\nstate: Todo\ncreated_at: ${createdAt}`;
      return writeFile(join(dir, "board", `${name}.md`), `---\n${front}\n---\n\nDo it.\n`);
    }),
  );
  const script = join(dir, "script.json");
  if (files.script !== null) await writeFile(script, JSON.stringify({ tickets: files.script }));
  const home = join(dir, "agent-home");
  const command = simulatedAgentCommand({ home, ...(files.script === null ? {} : { script }) });
  const workflow = join(dir, "WORKFLOW.md");
  await writeFile(workflow, workflowText(command, files.more ?? ""));
  return workflow;
}

function workflowText(command: string, more: string): string {
  return `---
tracker:
  kind: local
  provider: { path: ./board }
polling: { interval_ms: 200 }
workspace: { root: ./workspaces }
codex:
  command: ${JSON.stringify(command)}
state: { dir: ./state }
${more}
---
Work on {{ issue.identifier }}.
`;
}

/** A ticket's state as its file says. */
export async function stateOf(dir: string, ticket: string): Promise<string> {
  const text = await readFile(join(dir, "board", `${ticket}.md`), "utf8");
  return /^state: (.*)$/m.exec(text)?.[1] ?? "";
}

/** The text of a ticket's file, comments included. */
export function ticketText(dir: string, ticket: string): Promise<string> {
  return readFile(join(dir, "board", `${ticket}.md`), "utf8");
}

/** What the ledger knows of the runs, newest first; cheaper than another process that asks for them. */
export function runsIn(dir: string): readonly RunJson[] {
  const reader = openLedgerReader(join(dir, "state", "ledger.db"));
  try {
    return reader.runs();
  } finally {
    reader.close();
  }
}

/** Script steps that call the board. */
export const COMMENT = {
  do: "tool",
  tool: "local_board",
  arguments: { action: "comment", body: "worked on {{ticket}}" },
};
export const MOVE_TO_DONE = { do: "tool", tool: "local_board", arguments: { action: "move", state: "Done" } };

/** A script's run of one turn after the other. */
export function run(...turns: readonly (readonly unknown[])[]): unknown {
  return { turns: turns.map((steps) => ({ steps })) };
}
