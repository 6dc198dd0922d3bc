/** Ends a running turn early, and what it left running. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { isNoActiveTurn } from "./failures.ts";
import type { RequestMethod } from "./manifest.ts";
import type { ActiveTurn } from "./turn.ts";

/** An interrupt takes 28 to 60 ms (measured); after this long the turn is given up, whatever the server says. */
const CAP_MS = 10_000;
const TRIES = 4;
const RETRY_MS = 100;

export interface Interruption {
  /** Null: no turn runs, and only background commands are to be ended. */
  readonly turn: ActiveTurn | null;
  readonly threadId: string;
  readonly clock: Clock;
  readonly log: Log;
  request(method: RequestMethod, params: unknown): Promise<unknown>;
  /** Ends the turn here, whatever the server does. */
  end(turn: ActiveTurn): void;
}

/** Resolves when the turn is over and its commands are told to end. Never rejects. */
export async function interruptAndClean(interruption: Interruption): Promise<void> {
  const { turn, threadId, log, request } = interruption;
  if (turn !== null) await interruptTurn(interruption, turn);
  try {
    // Commands live on after an interrupt (measured), and would write into the next turn's work.
    await request("thread/backgroundTerminals/clean", { threadId });
  } catch (error) {
    // Needs the experimental part of the protocol; the end of the process ends them too.
    log.debug({ err: error }, "background terminals were not cleaned");
  }
}

async function interruptTurn(interruption: Interruption, turn: ActiveTurn): Promise<void> {
  const { clock, log, end } = interruption;
  if (!turn.sent) return end(turn);
  const cap = clock.setTimer(CAP_MS, () => {
    log.warn(
      { session_id: sessionOf(interruption, turn) },
      "the agent did not end an interrupted turn; it is given up",
    );
    end(turn);
  });
  await turn.started;
  for (let tries = 1; tries <= TRIES && !turn.settled; tries += 1) {
    if (await isInterrupted(interruption, turn)) break;
    await clock.sleep(RETRY_MS);
  }
  await turn.end;
  cap.cancel();
}

/** False: the server knows no such turn yet, or has ended it and says so in a moment. */
async function isInterrupted(interruption: Interruption, turn: ActiveTurn): Promise<boolean> {
  const { threadId, log, request } = interruption;
  try {
    await request("turn/interrupt", { threadId, turnId: turn.id });
    return true;
  } catch (error) {
    if (isNoActiveTurn(error)) return false;
    log.warn({ session_id: sessionOf(interruption, turn), err: error }, "interrupting the turn failed");
    return true;
  }
}

/** As the specification names a session in the log. */
function sessionOf({ threadId }: Interruption, turn: ActiveTurn): string | null {
  return turn.id === null ? null : `${threadId}-${turn.id}`;
}
