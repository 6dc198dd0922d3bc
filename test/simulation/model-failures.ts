/** The ways in which a model agent's run fails by itself: as often as makes a day interesting, one of each kind that the scheduler tells apart. */
import { failed, type RunOutcome } from "../../src/domain/outcome.ts";
import type { Rng } from "./rng.ts";

const MINUTE = 60_000;

/** The account's limit, with or without a stated reset; now and then no login instead. */
export function pickLimit(rng: Rng, now: number): RunOutcome {
  const resetsAt = rng.chance(0.5) ? now + rng.int(MINUTE, 120 * MINUTE) : null;
  return rng.chance(0.7) ? failed("usage_limit", "usage limit", { resetsAt }) : failed("auth", "401");
}

/** A failed turn, a full context, a refused setting, or a question that policy leaves to nobody. */
export function pickFailure(rng: Rng, runId: string): RunOutcome {
  const kind = rng.next();
  if (kind < 0.6) return failed("agent", "turn failed");
  if (kind < 0.75) return failed("context_overflow", "too long", { freshThread: true });
  if (kind < 0.85) return failed("config_refused", "refused", { retryable: false });
  const text = { kind: "command", summary: "May I?", subject: null, detail: "" } as const;
  return { kind: "needs_input", question: { id: `${runId}.refused`, ...text, askedAt: 0, deadlineAt: null } };
}
