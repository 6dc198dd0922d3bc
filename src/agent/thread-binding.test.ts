import { describe, expect, it } from "vitest";
import { misfit, parseBinding, toolsKey, type ThreadBinding } from "./thread-binding.ts";

const KEPT: ThreadBinding = {
  cwd: "/trees/A-1",
  home: "/home/a/.codex",
  modelProvider: "openai",
  model: "gpt-5.5",
  effort: null,
  agentVersion: "0.171.0",
  tools: "abc",
};

describe("a thread's binding", () => {
  it.each([
    [{ cwd: "/trees/A-2" }, "its workspace was /trees/A-1 and is /trees/A-2 now"],
    [{ home: "/srv/codex" }, "the agent's home was /home/a/.codex and is /srv/codex now"],
    [{ modelProvider: "azure" }, "the model provider was openai and is azure now"],
    [{ tools: "abd" }, "the tools that it was made with are others now"],
  ])("doesn't fit any more with %j", (change, words) => {
    expect(misfit(KEPT, { ...KEPT, ...change })).toBe(words);
  });

  it("fits with another model, effort or version, and with what nobody knows", () => {
    expect(misfit(KEPT, { ...KEPT, home: null, modelProvider: null })).toBeNull();
    expect(misfit({ ...KEPT, home: null, modelProvider: null, model: "m", agentVersion: "1" }, KEPT)).toBeNull();
  });

  it("survives its way through the ledger; what an older version kept says nothing", () => {
    expect(parseBinding(structuredClone(KEPT))).toEqual(KEPT);
    for (const old of [{}, null, [], "x", { cwd: 1 }]) expect(parseBinding(old)).toBeNull();
  });
});

describe("the key of a tool set", () => {
  const board = { name: "board", description: "d", inputSchema: { type: "object" } } as const;
  const other = { ...board, name: "other" };

  it("is the same in any order and under any description, and another for another name or schema", () => {
    expect(toolsKey([board, other])).toBe(toolsKey([other, { ...board, description: "new words" }]));
    const keys = [[], [board], [other], [{ ...board, inputSchema: { type: "string" } }], [board, other]].map(toolsKey);
    expect(new Set(keys).size).toBe(5);
  });
});
