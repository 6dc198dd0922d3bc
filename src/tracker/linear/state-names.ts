/** Sees to it that a configured state which no team in Linear has is told of: such a name would match nothing, for ever and in silence. */
import { isAppError } from "../../domain/errors.ts";
import { normalizeState } from "../../domain/issue.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { LinearClient } from "./client.ts";
import { STATE_PAGE, STATES_DOCUMENT } from "./documents.ts";
import type { LinearScope } from "./provider.ts";
import { readStateNames } from "./records.ts";
import { stateFilters } from "./scope.ts";

/** A renamed state is noticed within this time. */
const CHECK_EVERY_MS = 3_600_000;

export interface StateNamesDeps {
  readonly client: LinearClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: LinearScope;
  readonly activeStates: readonly string[];
  readonly terminalStates: readonly string[];
}

export class StateNames {
  readonly #deps: StateNamesDeps;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** What was said last, so that the log has it once. */
  #said = "";

  constructor(deps: StateNamesDeps) {
    this.#deps = deps;
  }

  /**
   * Called after each poll with the states that were asked for and those that the candidates are in. Asks Linear at most once an hour, and
   * not at all while every active state is seen in use. Never fails a poll: what can't be asked now is asked in an hour.
   */
  async polled(asked: readonly string[], seen: readonly string[], signal?: AbortSignal): Promise<void> {
    const { clock, log, activeStates } = this.#deps;
    const wasAsked = normalizedSet(asked);
    const inUse = normalizedSet(seen);
    const silent = activeStates.map(normalizeState).filter((name) => !inUse.has(name));
    if (silent.length === 0 || !silent.every((name) => wasAsked.has(name))) return;
    if (clock.now() - this.#checkedAt < CHECK_EVERY_MS) return;
    this.#checkedAt = clock.now();
    try {
      await this.#check(signal);
    } catch (error) {
      signal?.throwIfAborted();
      log.debug(
        { reason: isAppError(error) ? error.code : "unknown" },
        "the names of Linear's states can't be checked",
      );
    }
  }

  async #check(signal?: AbortSignal): Promise<void> {
    const { client, log, scope, activeStates, terminalStates } = this.#deps;
    const { named, all } = stateFilters(scope, [...activeStates, ...terminalStates]);
    const variables = { named, all, first: STATE_PAGE };
    const data = await client.query({ document: STATES_DOCUMENT, variables, lane: "aside", signal });
    const found = readStateNames(data);
    if (found === null) return;
    const known = normalizedSet(found.named);
    const isMissing = (name: string): boolean => !known.has(normalizeState(name));
    const missing = activeStates.filter(isMissing);
    const problems = [
      ...missing.map((name) => `tracker.active_states: no state in Linear is named ${JSON.stringify(name)}`),
      // Of the terminal ones a team has but a few; the default names several spellings.
      ...(terminalStates.every(isMissing)
        ? ["tracker.terminal_states: no state in Linear has one of these names"]
        : []),
    ];
    const text = problems.join("; ");
    if (text !== "" && text !== this.#said) log.warn({ linearStates: [...new Set(found.all)] }, text);
    this.#said = text;
  }
}

function normalizedSet(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map(normalizeState));
}
