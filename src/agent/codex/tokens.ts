/** Absolute token totals of threads as the app-server reports them (section 13.5): never `last`, never its own `totalTokens`. */
import type { TokenCounts } from "../../domain/tokens.ts";
import { numberAt, objectAt, stringAt } from "./reading.ts";

export interface TokenReport {
  readonly threadId: string;
  readonly total: TokenCounts;
}

/**
 * Reads token notifications of one session. A total that lacks input or output, and can't be completed from the sum, is unknown:
 * no report, never a zero. Components that are missing keep the thread's last known value.
 */
export class TokenReader {
  readonly #last = new Map<string, TokenCounts>();

  /** Null when `params` hold no usable total, or the same as before (repeats are common). Reads `tokenUsage.total`, else `info.total_token_usage`. */
  read(params: unknown): TokenReport | null {
    const threadId = stringAt(params, "threadId") ?? stringAt(params, "conversationId");
    const body = objectAt(params, "msg") ?? params;
    const usage =
      objectAt(objectAt(body, "tokenUsage"), "total") ?? objectAt(objectAt(body, "info"), "total_token_usage");
    if (threadId === null || usage === null) return null;
    const total = this.#total(threadId, usage);
    const last = this.#last.get(threadId);
    if (total === null || (last !== undefined && isSame(last, total))) return null;
    this.#last.set(threadId, total);
    return { threadId, total };
  }

  #total(threadId: string, usage: unknown): TokenCounts | null {
    const sum = countAt(usage, "totalTokens", "total_tokens");
    const seenInput = countAt(usage, "inputTokens", "input_tokens");
    const seenOutput = countAt(usage, "outputTokens", "output_tokens");
    const input = seenInput ?? rest(sum, seenOutput);
    const output = seenOutput ?? rest(sum, seenInput);
    if (input === null || output === null) return null;
    const last = this.#last.get(threadId);
    return {
      input,
      cachedInput: countAt(usage, "cachedInputTokens", "cached_input_tokens") ?? last?.cachedInput ?? 0,
      output,
      reasoning: countAt(usage, "reasoningOutputTokens", "reasoning_output_tokens") ?? last?.reasoning ?? 0,
    };
  }
}

function isSame(a: TokenCounts, b: TokenCounts): boolean {
  return a.input === b.input && a.cachedInput === b.cachedInput && a.output === b.output && a.reasoning === b.reasoning;
}

function rest(sum: number | null, part: number | null): number | null {
  return sum === null || part === null || sum < part ? null : sum - part;
}

function countAt(usage: unknown, name: string, oldName: string): number | null {
  const count = numberAt(usage, name) ?? numberAt(usage, oldName);
  return count === null || count < 0 ? null : count;
}
