/** Takes a person's command to the loop and answers at once, from the very state that the command met. */
import type { Event, OperatorCommand, OperatorResult } from "../scheduler/events.ts";
import { judge } from "../scheduler/operator-result.ts";
import type { State } from "../scheduler/state.ts";

/** What a command needs of the loop. */
export interface CommandLoop {
  readonly state: State;
  readonly ledgerError: { readonly message: string } | null;
  post(event: Event): void;
  /** Decides what is queued, now. */
  flush(): void;
}

/** What ends something is done even where it can't be written down: the event stays queued until it is. */
const WITHOUT_LEDGER: ReadonlySet<OperatorCommand["kind"]> = new Set(["stop", "release", "reset"]);

/** `loop` null: the claims of an earlier daemon aren't restored yet. */
export function operate(loop: CommandLoop | null, command: OperatorCommand): OperatorResult {
  if (loop === null) {
    const message = "the daemon is starting and doesn't know its tickets yet; try again in a moment";
    return { accepted: false, code: "daemon_starting", message };
  }
  if (loop.ledgerError === null) loop.flush();
  if (loop.ledgerError !== null && !WITHOUT_LEDGER.has(command.kind)) return unwritable(loop.ledgerError.message);
  const result = judge(loop.state, command);
  if (!result.accepted) return result;
  loop.post({ kind: "operator", command });
  loop.flush();
  if (loop.ledgerError === null) return result;
  const message = `${result.message}; it isn't in the ledger yet, which can't be written (${loop.ledgerError.message})`;
  return { accepted: true, message };
}

function unwritable(reason: string): OperatorResult {
  const message = `the ledger can't be written, so the command would be lost: ${reason}; mend that, then ask again`;
  return { accepted: false, code: "ledger_unavailable", message };
}
