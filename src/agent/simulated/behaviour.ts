/** Decides what a turn does: which ticket it is about, which run and turn of the script that is, or the built-in behaviour. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Actions } from "./actions.ts";
import { workByDefault } from "./default-behaviour.ts";
import { answerSteers, performSteps } from "./perform.ts";
import type { Script } from "./script.ts";

/** A validated script and where it came from. */
export interface LoadedScript {
  readonly path: string;
  readonly script: Script;
}

/** The key of a script that stands for every ticket without one of its own. */
const ANY = "*";

function escapeForPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Finds a key as a whole word, so that `ENG-1` isn't found in `ENG-12`. */
function positionOf(key: string, text: string): number {
  return text.search(new RegExp(`(?<![A-Za-z0-9_-])${escapeForPattern(key)}(?![A-Za-z0-9_-])`));
}

/** The identifier in a thread's name of the form `<identifier>: <title>`. */
function identifierOf(name: string | null): string | null {
  const at = name?.indexOf(":") ?? -1;
  return name === null || at < 1 ? null : name.slice(0, at).trim();
}

/** The ticket that a thread works on: by the thread's name, its directory's name, or the script's key that the prompt names first. */
export function findTicket(
  keys: readonly string[],
  thread: { readonly name: string | null; readonly cwd: string },
  prompt: string,
): string {
  const known = keys.filter((key) => key !== ANY);
  const named = identifierOf(thread.name);
  const folder = basename(thread.cwd);
  for (const key of [named, folder]) if (key !== null && known.includes(key)) return key;
  const found = known
    .map((key) => ({ key, at: positionOf(key, prompt) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at || b.key.length - a.key.length);
  return found[0]?.key ?? named ?? folder;
}

/** Counts the runs of a ticket over processes, in a small file per script and ticket. */
function nextRun(home: string, scriptPath: string, ticket: string): number {
  const script = createHash("sha256").update(scriptPath).digest("hex").slice(0, 16);
  const path = join(home, "runs", script, encodeURIComponent(ticket));
  let before = 0;
  try {
    before = Number.parseInt(readFileSync(path, "utf8"), 10) || 0;
  } catch {
    // The first run of this ticket.
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, String(before + 1));
  return before;
}

/** One per process: a process is one run of each thread in it, unless the thread is archived meanwhile. */
export class Behaviour {
  readonly #home: string;
  readonly #loaded: LoadedScript | null;
  /** Per thread: its run, and how many turns of it have begun. */
  readonly #progress = new Map<string, { readonly run: number; turns: number }>();

  constructor(home: string, loaded: LoadedScript | null) {
    this.#home = home;
    this.#loaded = loaded;
  }

  /** The run of a thread is over: when it is taken up again, that is another one. */
  forget(threadId: string): void {
    this.#progress.delete(threadId);
  }

  /** What a new turn of a thread is about. Called once per turn, before anything of it is done. */
  plan(
    threadId: string,
    thread: { name: string | null; cwd: string; ticket: string | null },
    prompt: string,
  ): TurnPlan {
    const tickets = this.#loaded?.script.tickets ?? {};
    const ticket = thread.ticket ?? findTicket(Object.keys(tickets), thread, prompt);
    let progress = this.#progress.get(threadId);
    if (progress === undefined) {
      progress = { run: this.#loaded === null ? 0 : nextRun(this.#home, this.#loaded.path, ticket), turns: 0 };
      this.#progress.set(threadId, progress);
    }
    const turn = progress.turns++;
    const runs = (tickets[ticket] ?? tickets[ANY])?.runs;
    // When the script has no more runs or turns, its last one is repeated.
    const turns = runs?.[Math.min(progress.run, runs.length - 1)]?.turns;
    const steps = turns?.[Math.min(turn, turns.length - 1)]?.steps ?? null;
    const words = { ticket, run: String(progress.run + 1), turn: String(turn + 1) };
    return { words, perform: steps === null ? byDefault(ticket) : (actions) => performSteps(steps, actions, words) };
  }
}

export interface TurnPlan {
  readonly words: Readonly<Record<"ticket" | "run" | "turn", string>>;
  perform(actions: Actions): Promise<void>;
}

function byDefault(ticket: string): (actions: Actions) => Promise<void> {
  return async (actions) => {
    await workByDefault(actions, ticket);
    await answerSteers(actions);
  };
}

/** The environment of a turn's shell commands: the words of its plan, never spliced into a command. */
export function commandEnvironment(plan: TurnPlan): Readonly<Record<string, string>> {
  return { SIMULATED_TICKET: plan.words.ticket, SIMULATED_RUN: plan.words.run, SIMULATED_TURN: plan.words.turn };
}
