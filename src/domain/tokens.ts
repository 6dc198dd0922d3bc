/** Token counts: what the agent's source reports, and the growth that we add up. */

/** Counts of one thread, turn or run. `input` includes cached input, `output` includes reasoning (measured, 0.171). */
export interface TokenCounts {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly reasoning: number;
}

/** What was counted on one model; null where the agent didn't name it. */
export interface ModelTokens {
  readonly model: string | null;
  readonly tokens: TokenCounts;
}

export const NO_TOKENS: TokenCounts = { input: 0, cachedInput: 0, output: 0, reasoning: 0 };

/** Component-wise sum. */
export function addTokens(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    input: a.input + b.input,
    cachedInput: a.cachedInput + b.cachedInput,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

/**
 * What a new absolute thread total adds to what was counted so far (section 13.5): growth per component; a component that
 * fell (a context overflow resets the source's counter) is a new base, and its new value is all growth.
 */
export function tokenGrowth(mark: TokenCounts, total: TokenCounts): TokenCounts {
  const grow = (before: number, now: number): number => (now >= before ? now - before : now);
  return {
    input: grow(mark.input, total.input),
    cachedInput: grow(mark.cachedInput, total.cachedInput),
    output: grow(mark.output, total.output),
    reasoning: grow(mark.reasoning, total.reasoning),
  };
}

/** Input that the model read anew; never negative, whatever a source reported. */
export function uncachedInput(counts: TokenCounts): number {
  return Math.max(0, counts.input - counts.cachedInput);
}

/** Input plus output; the source's own total is ignored (it lies after an overflow). */
export function totalTokens(counts: TokenCounts): number {
  return counts.input + counts.output;
}
