/** The commands that ask a running daemon, as the command line has them. What they do is loaded when they are asked for. */
import { InvalidArgumentError, Option, type Command } from "commander";
import type { ControlOptions, DaemonVerb, IssueVerb } from "./control.ts";
import { daemonCommand, nearestOptions, positiveCount } from "./options.ts";

const DAEMON_VERBS: Readonly<Record<Exclude<DaemonVerb, "drain">, string>> = {
  pause: "start nothing new until resume, also over a restart; runs go on",
  resume: "end a pause or a drain, and try at once whether limits are over",
  refresh: "read the tracker now",
};

const ISSUE_VERBS: Readonly<Record<IssueVerb, string>> = {
  stop: "end its run; it is blocked until retry, release, or a change of the ticket",
  retry: "make it due now, its attempt kept",
  release: "forget its claim; it is eligible again at the next poll",
  reset: "release it, and start over on a fresh thread",
  interrupt: "end the turn that is running; its run goes on with the next one",
  compact: "have its agent compact the thread when the turn has ended",
};

/** Adds them all. */
export function addControls(program: Command, done: (exitCode: number) => void): void {
  addLooks(program, done);
  for (const [verb, description] of Object.entries(DAEMON_VERBS) as [DaemonVerb, string][]) {
    daemonCommand(program, verb)
      .description(description)
      .action(async (_options, command: Command) => {
        const { controlDaemon } = await import("./control.ts");
        done(await controlDaemon(verb, controlOptions(command)));
      });
  }
  daemonCommand(program, "drain")
    .description("start nothing new until resume or a restart; runs go on to their own ends")
    .option("--wait", "come back when no run is left")
    .action(async (_options, command: Command) => {
      const { controlDaemon, drainAndWait } = await import("./control.ts");
      const options = controlOptions(command);
      done(nearestOptions(command).wait === true ? await drainAndWait(options) : await controlDaemon("drain", options));
    });
  for (const [verb, description] of Object.entries(ISSUE_VERBS) as [IssueVerb, string][]) {
    daemonCommand(program, verb)
      .description(description)
      .argument("<issue>", "its identifier")
      .action(async (issue: string, _options, command: Command) => {
        const { controlIssue } = await import("./control.ts");
        done(await controlIssue(issue, verb, controlOptions(command)));
      });
  }
  addWords(program, done);
}

/** Commands that only look. */
function addLooks(program: Command, done: (exitCode: number) => void): void {
  daemonCommand(program, "status")
    .description("what the daemon does right now")
    .option("--watch", "go on showing it, until Ctrl-C; with --json one snapshot a line")
    .action(async (_options, command: Command) => {
      const options = controlOptions(command);
      if (nearestOptions(command).watch === true) {
        const { watchStatus } = await import("./watch.ts");
        return done(await watchStatus(options));
      }
      const { status } = await import("./status.ts");
      done(await status(options));
    });
  daemonCommand(program, "top")
    .description("what the daemon does, live on the whole terminal; without a terminal, as status")
    .action(async (_options, command: Command) => {
      const { top } = await import("./watch.ts");
      done(await top(controlOptions(command)));
    });
  daemonCommand(program, "events")
    .description("what the agent of a ticket did, the newest last; without a daemon as well")
    .argument("<issue>", "its identifier")
    .option("-f, --follow", "go on with what it does, until Ctrl-C")
    .addOption(new Option("--limit <count>", "at most this many of the past").argParser(positiveCount).default(50))
    .action(async (issue: string, _options, command: Command) => {
      const { limit = 50, follow = false } = nearestOptions(command);
      const { events } = await import("./events.ts");
      done(await events(issue, { ...controlOptions(command), limit, follow }));
    });
  daemonCommand(program, "explain")
    .description("why a ticket runs or doesn't: every gate, open or not, and what would open it")
    .argument("<issue>", "its identifier")
    .action(async (issue: string, _options, command: Command) => {
      const { explain } = await import("./explain.ts");
      done(await explain(issue, controlOptions(command)));
    });
}

/** Commands with words for an agent. */
function addWords(program: Command, done: (exitCode: number) => void): void {
  daemonCommand(program, "steer")
    .description("say something to the agent of a ticket: into the running turn, else into the next one")
    .argument("<issue>", "its identifier")
    .argument("<text...>", "what the agent should know or do")
    .action(async (issue: string, text: readonly string[], _options, command: Command) => {
      const { steer } = await import("./control.ts");
      done(await steer(issue, text.join(" "), controlOptions(command)));
    });
  daemonCommand(program, "answer")
    .description("answer an approval or a question of an agent; a plain yes unless said otherwise")
    .argument("<question-or-issue>", "a question's id, or the identifier of the ticket that has one")
    .addOption(new Option("--accept", "yes").conflicts("decline"))
    .addOption(new Option("--decline", "no").conflicts(["accept", "text"]))
    .addOption(
      new Option("--text <text>", "for a question; for a form, a JSON object with its fields").argParser(someText),
    )
    .action(async (target: string, _options, command: Command) => {
      const { decline = false, text = null } = nearestOptions(command);
      const { answerQuestion } = await import("./control.ts");
      done(await answerQuestion(target, { accept: !decline, text }, controlOptions(command)));
    });
}

function someText(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

function controlOptions(command: Command): ControlOptions {
  const { workflow = "./WORKFLOW.md", stateDir = null, json = false } = nearestOptions(command);
  return { workflow, stateDir, json };
}
