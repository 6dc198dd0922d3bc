/** Token usage as the app-server reports it: absolute totals of a thread, and the last response beside them. */

/** One breakdown in the protocol's own names; input includes cached, output includes reasoning. */
export interface Breakdown {
  readonly totalTokens: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningOutputTokens: number;
}

export interface ThreadUsage {
  readonly total: Breakdown;
  readonly last: Breakdown;
}

/** What one simulated model response costs. */
export interface ResponseTokens {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
  readonly reasoning: number;
}

/** The context window that the real server states for its default model. */
export const CONTEXT_WINDOW = 258_400;

const ZERO: Breakdown = {
  totalTokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningOutputTokens: 0,
};

/** A thread that no model has answered yet. */
export const NO_USAGE: ThreadUsage = { total: ZERO, last: ZERO };

/** The usage after one more response. */
export function addResponse(usage: ThreadUsage, tokens: ResponseTokens): ThreadUsage {
  const last: Breakdown = {
    totalTokens: tokens.input + tokens.output,
    inputTokens: tokens.input,
    cachedInputTokens: tokens.cached_input,
    cacheWriteInputTokens: 0,
    outputTokens: tokens.output,
    reasoningOutputTokens: tokens.reasoning,
  };
  const { total } = usage;
  return {
    last,
    total: {
      totalTokens: total.totalTokens + last.totalTokens,
      inputTokens: total.inputTokens + last.inputTokens,
      cachedInputTokens: total.cachedInputTokens + last.cachedInputTokens,
      cacheWriteInputTokens: total.cacheWriteInputTokens,
      outputTokens: total.outputTokens + last.outputTokens,
      reasoningOutputTokens: total.reasoningOutputTokens + last.reasoningOutputTokens,
    },
  };
}

/** What a context overflow leaves: the counter is set to the window and its parts to nothing (measured). */
export function overflowed(): ThreadUsage {
  return { total: { ...ZERO, totalTokens: CONTEXT_WINDOW }, last: ZERO };
}

/** After a compaction `last` holds only an estimate of the new context size. */
export function compacted(usage: ThreadUsage, contextTokens: number): ThreadUsage {
  return { total: usage.total, last: { ...ZERO, totalTokens: contextTokens } };
}

/** Fixed cost of instructions and tools in an invented figure. */
const BASE_INPUT = 1_200;
/** Growth of the context per response in an invented figure. */
const INPUT_PER_RESPONSE = 400;

/** Invented but repeatable figures for a response that the script gives none for: the context grows and is mostly cached. */
export function inventTokens(responses: number, textLength: number): ResponseTokens {
  const input = BASE_INPUT + INPUT_PER_RESPONSE * responses;
  return {
    input,
    cached_input: responses === 0 ? 0 : input - INPUT_PER_RESPONSE,
    output: 20 + Math.ceil(textLength / 4),
    reasoning: 0,
  };
}
