/** What agents and hooks do in a round: shell code that takes locks and keeps a journal, and a script for each kind of ticket. */
import type { TicketKind, TicketPlan } from "./plan.ts";

type Step = Readonly<Record<string, unknown>>;
type Run = { readonly turns: readonly { readonly steps: readonly Step[] }[] };

/**
 * Sourced by hooks, launchers and commands; `$CHAOS_DIR` is the round's folder beside the user's own. The locks are the kernel's:
 * whoever dies gives them back, and whoever still lives in a workspace that another is given shows up as a violation.
 */
export const SHELL_LIBRARY = String.raw`
ticket=$(basename "$PWD")

# One line: what happened, to which ticket, in which run, in which process.
note() { echo "$1 $ticket $SYMPHONY_RUN_MARKER $$" >>"$CHAOS_DIR/journal"; }

# Takes the workspace for as long as this process and what inherits its descriptor 9 live.
alone() {
  exec 9>>"$CHAOS_DIR/locks/$ticket"
  flock -n 9 || note "violation:$1"
  flock -n "$CHAOS_DIR/locks/$ticket.left" true || note "violation:left-before-$1"
}

# On a stubborn ticket: a process in a session of its own that ignores whatever can be ignored.
linger() {
  [ -e "$CHAOS_DIR/stubborn/$ticket" ] || return 0
  setsid bash -c 'exec 8>>"$0"; flock -s 8; trap "" TERM HUP INT; while :; do sleep 60; done' \
    "$CHAOS_DIR/locks/$ticket.left" </dev/null >/dev/null 2>&1 9>&- &
}
`;

/** Long enough for a fault to strike meanwhile. */
const HOOK_PAUSE_S = 0.15;

/** Each hook takes the workspace for itself; after_create and before_remove may also leave a process behind. */
export const HOOKS: Readonly<Record<string, string>> = {
  after_create: `. "$CHAOS_DIR/lib.sh"; alone after_create; note after_create; linger; sleep ${HOOK_PAUSE_S}; touch made`,
  before_run: `. "$CHAOS_DIR/lib.sh"; alone before_run; note before_run; [ -e made ] || note violation:half-made`,
  after_run: `. "$CHAOS_DIR/lib.sh"; alone after_run; note after_run`,
  before_remove: `. "$CHAOS_DIR/lib.sh"; alone before_remove; note before_remove; linger; sleep ${HOOK_PAUSE_S}`,
};

/** What one model response costs here: odd figures, so that a doubled or lost one shows. */
const COST = { input: 1013, cached_input: 607, output: 53, reasoning: 19 };

/** A command in the workspace, with the library at hand. */
function shell(command: string): Step {
  return { do: "shell", command: `. "$CHAOS_DIR/lib.sh"; ${command}`, tokens: COST };
}

function board(args: Readonly<Record<string, string>>): Step {
  return { do: "tool", tool: "local_board", arguments: args, tokens: COST };
}

const BEGIN = shell("note begin");

/** Says so on the board and in the journal: in this order, so that a second completion would be seen in both. */
const FINISH = [
  shell("note tool"),
  board({ action: "comment", body: "worked on {{ticket}}" }),
  board({ action: "move", state: "Done" }),
  shell("note done"),
];

function run(...turns: readonly (readonly Step[])[]): Run {
  return { turns: turns.map((steps) => ({ steps })) };
}

function work({ pauseMs }: TicketPlan): Step[] {
  return [{ do: "wait", ms: pauseMs }, shell("echo work >>work.txt"), { do: "wait", ms: pauseMs }];
}

/** A limit's reset is told in whole seconds. */
const LIMIT_RESETS_MS = 1500;

function runsOf(ticket: TicketPlan): readonly Run[] {
  const whole = run([BEGIN, ...work(ticket), ...FINISH]);
  switch (ticket.kind) {
    case "plain":
      return [whole];
    case "turns":
      return [run([BEGIN, ...work(ticket)], [BEGIN, ...work(ticket), ...FINISH])];
    case "stubborn":
      return [run([BEGIN, shell("linger; linger"), ...work(ticket), ...FINISH])];
    case "flaky":
      return [run([BEGIN, { do: "fail", message: "the model answered 500" }]), run([BEGIN, { do: "exit" }]), whole];
    case "asks":
      return [run([BEGIN, ...work(ticket), { do: "ask", about: "question", text: "Which one?" }])];
    case "limited":
      return [run([BEGIN, { do: "usage_limit", resets_in_ms: LIMIT_RESETS_MS }]), whole];
    case "silent":
      return [run([BEGIN, { do: "hang" }]), whole];
    default:
      return ticket.kind satisfies never;
  }
}

/** The simulated agent's script (docs/simulated-agent.md). */
export function agentScript(tickets: readonly TicketPlan[]): unknown {
  return { tickets: Object.fromEntries(tickets.map((ticket) => [ticket.id, { runs: runsOf(ticket) }])) };
}

/** Whether such a ticket ends as Done; the others wait for a person. */
export function isFinished(kind: TicketKind): boolean {
  return kind !== "asks";
}
