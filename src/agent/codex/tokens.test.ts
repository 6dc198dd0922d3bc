import { describe, expect, it } from "vitest";
import { TokenReader } from "./tokens.ts";

function usage(total: unknown, last: unknown = { inputTokens: 1, outputTokens: 1 }): unknown {
  return { threadId: "t", turnId: "u", tokenUsage: { total, last, modelContextWindow: 258_400 } };
}

function counts(input: number, cachedInput: number, output: number, reasoning: number): Record<string, number> {
  return { input, cachedInput, output, reasoning };
}

describe("token totals", () => {
  it("are taken from total, never from last or from the sum", () => {
    const total = {
      totalTokens: 258_400,
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      reasoningOutputTokens: 0,
    };
    expect(new TokenReader().read(usage(total))).toEqual({ threadId: "t", total: counts(0, 0, 0, 0) });
  });

  it("fall back to info.total_token_usage, also inside an old server's event", () => {
    const info = {
      total_token_usage: { input_tokens: 9, cached_input_tokens: 4, output_tokens: 3, reasoning_output_tokens: 2 },
    };
    expect(new TokenReader().read({ threadId: "t", info })?.total).toEqual(counts(9, 4, 3, 2));
    expect(new TokenReader().read({ conversationId: "t", msg: { type: "token_count", info } })?.total).toEqual(
      counts(9, 4, 3, 2),
    );
  });

  it.each([
    ["no usage at all", { threadId: "t" }],
    ["no thread", { tokenUsage: { total: { inputTokens: 1, outputTokens: 1 } } }],
    ["only a sum", usage({ totalTokens: 10 })],
    ["neither input nor output", usage({ cachedInputTokens: 3 })],
    ["words for numbers", usage({ inputTokens: "9", outputTokens: "1" })],
    ["negative numbers", usage({ inputTokens: -9, outputTokens: 1 })],
    ["an empty info of an old server", { conversationId: "t", msg: { info: null } }],
    ["nothing", null],
  ])("are unknown, not zero, with %s", (_name, params) => {
    expect(new TokenReader().read(params)).toBeNull();
  });

  it("are completed from the sum where one side is missing", () => {
    expect(new TokenReader().read(usage({ totalTokens: 12, inputTokens: 10 }))?.total).toEqual(counts(10, 0, 2, 0));
    expect(new TokenReader().read(usage({ totalTokens: 12, outputTokens: 5 }))?.total).toEqual(counts(7, 0, 5, 0));
  });

  it("keep a component that one report leaves out, so that it can't be counted twice", () => {
    const reader = new TokenReader();
    reader.read(usage({ inputTokens: 10, cachedInputTokens: 6, outputTokens: 2, reasoningOutputTokens: 1 }));
    expect(reader.read(usage({ inputTokens: 20, outputTokens: 4 }))?.total).toEqual(counts(20, 6, 4, 1));
  });

  it("are told once, per thread, and again when they fall", () => {
    const reader = new TokenReader();
    const total = { inputTokens: 10, cachedInputTokens: 0, outputTokens: 2, reasoningOutputTokens: 0 };
    expect(reader.read(usage(total))).not.toBeNull();
    expect(reader.read(usage(total))).toBeNull();
    expect(reader.read({ threadId: "child", tokenUsage: { total } })).not.toBeNull();
    expect(reader.read(usage({ inputTokens: 0, outputTokens: 0 }))?.total).toEqual(counts(0, 0, 0, 0));
  });
});
