/** What the demo is about: six tickets, the little program that they change, and the workflow that has them worked on. */
import { join } from "node:path";
import { stringify } from "yaml";

/** One ticket of the demo's board. */
export interface DemoTicket {
  readonly identifier: string;
  readonly title: string;
  /** 1 (urgent) to 4 (low); null sorts last. */
  readonly priority: number | null;
  readonly labels: readonly string[];
  readonly blockedBy: readonly string[];
  readonly body: string;
}

/** In the order of their making; they are started in another one, by priority and blockers. */
export const DEMO_TICKETS: readonly DemoTicket[] = [
  {
    identifier: "DEMO-1",
    title: "Greet people by name",
    priority: 1,
    labels: ["feature"],
    blockedBy: [],
    body: "`greet.sh Ada` should say `Hello, Ada!`. Without a name it goes on saying `Hello!`.",
  },
  {
    identifier: "DEMO-2",
    title: "Greet in German as well",
    priority: 1,
    labels: ["feature", "i18n"],
    blockedBy: ["DEMO-1"],
    body: "With `GREET_LANG=de` it says `Hallo` in place of `Hello`. Builds on DEMO-1, which is why that one blocks it.",
  },
  {
    identifier: "DEMO-3",
    title: "Write the manual, in two sittings",
    priority: 2,
    labels: ["docs"],
    blockedBy: [],
    body: "First what it does, then the examples. Too much for one turn: a continuation turn on the same thread finishes it.",
  },
  {
    identifier: "DEMO-4",
    title: "Refuse more than one name",
    priority: 2,
    labels: ["bug"],
    blockedBy: [],
    body: "Two names are a mistake, exit code 2. The first try at this ticket fails on purpose, and the daemon tries again.",
  },
  {
    identifier: "DEMO-5",
    title: "Keep editors' backup files out of the repository",
    priority: null,
    labels: ["chore"],
    blockedBy: [],
    body: "A `.gitignore` will do.",
  },
  {
    identifier: "DEMO-6",
    title: "The README doesn't say how to run the checks",
    priority: 1,
    labels: ["docs", "bug"],
    blockedBy: [],
    body: "One sentence is enough: `sh check.sh`.",
  },
];

/** The repository's files before anybody works on them. */
export const DEMO_FILES: Readonly<Record<string, string>> = {
  "README.md": "# greet\n\nA program that greets. It exists so that somebody can work on it.\n",
  "greet.sh": '#!/bin/sh\necho "Hello!"\n',
  "check.sh": '#!/bin/sh\nset -e\n[ "$(sh greet.sh)" = "Hello!" ]\necho "checks passed"\n',
};

/** A file of the local board. `createdAt` is RFC 3339. */
export function ticketFile(ticket: DemoTicket, createdAt: string): string {
  const front = {
    title: ticket.title,
    state: "Todo",
    ...(ticket.priority === null ? {} : { priority: ticket.priority }),
    labels: [...ticket.labels],
    ...(ticket.blockedBy.length === 0 ? {} : { blocked_by: [...ticket.blockedBy] }),
    created_at: createdAt,
  };
  return `---\n${stringify(front)}---\n\n${ticket.body}\n`;
}

/** Folders of the demo below `dir`; the workflow refers to them in the same layout. */
export function demoLayout(dir: string) {
  return {
    dir,
    workflow: join(dir, "WORKFLOW.md"),
    board: join(dir, "board"),
    repository: join(dir, "repository"),
    workspaces: join(dir, "workspaces"),
    state: join(dir, "state"),
    script: join(dir, "agent", "script.json"),
    agentHome: join(dir, "agent", "home"),
    log: join(dir, "symphony.log"),
  } as const;
}

export type DemoLayout = ReturnType<typeof demoLayout>;

/** The demo's WORKFLOW.md; `command` starts the simulated agent. */
export function workflowFile(command: string): string {
  return `---
# The workflow of \`symphony demo\`. A daemon that runs on it picks up an edit within about a second.
tracker:
  kind: local
  provider:
    path: ./board
polling:
  interval_ms: 1000
workspace:
  root: ./workspaces
hooks:
  after_create: |
    git clone --quiet --config user.name="Simulated agent" --config user.email=agent@demo.invalid \\
      --config commit.gpgsign=false --config maintenance.auto=false ../../repository .
agent:
  max_concurrent_agents: 3
  # A failed try waits 10 s by default; a demo shouldn't.
  max_retry_backoff_ms: 2000
codex:
  # The simulated agent that ships with symphony: it speaks the app-server protocol and asks no model.
  # For a real one write: command: codex app-server
  command: ${JSON.stringify(command)}
state:
  dir: ./state
shutdown:
  drain_ms: 3000
---

You work on {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}

This directory is a clone of the repository. Commit your work, push it as the branch demo/{{ issue.identifier }},
say what you did in a comment, and move the ticket to Done.
`;
}
