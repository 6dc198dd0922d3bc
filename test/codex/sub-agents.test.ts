/** Sub-agents of the real binary: they share the connection with their parent, and their turns are nobody's but theirs. */
import { expect, test } from "vitest";
import { type ModelItem, type ModelReply, say } from "../fakes/responses-server.ts";
import { SessionRecorder } from "../fakes/session-recorder.ts";
import { AgentBench } from "./agent-bench.ts";

function ofAgents(name: string, args: Readonly<Record<string, unknown>>): ModelReply {
  const item: ModelItem = { kind: "call", name, arguments: args, namespace: "multi_agent_v1" };
  return { kind: "answer", items: [item], usage: { input: 100, cachedInput: 0, output: 10, reasoning: 0 } };
}

test.each(["per_run", "shared"] as const)(
  "a sub-agent's events and end are kept apart, and its tokens are counted as its own, codex.process: %s",
  async (process) => {
    await using bench = await AgentBench.make(({ text, outputs }) => {
      if (!text.includes("the parent's task")) {
        return say("the child's answer", { input: 7000, cachedInput: 0, output: 70, reasoning: 0 });
      }
      const [spawned, waited] = outputs;
      if (spawned === undefined) return ofAgents("spawn_agent", { message: "the child's task" });
      if (waited !== undefined) {
        return say("the parent's answer", { input: 100, cachedInput: 0, output: 10, reasoning: 0 });
      }
      const { agent_id: id } = JSON.parse(spawned) as { readonly agent_id: string };
      return ofAgents("wait_agent", { targets: [id], timeout_ms: 60_000 });
    });
    const session = await bench.open({ process });
    const neighbour = new SessionRecorder();
    const overrides = { listener: neighbour, workspacePath: await bench.makeWorkspace("T-2") };
    await bench.open({ process }, {}, overrides);
    expect(await bench.turn(session, { prompt: "the parent's task", model: "gpt-5.1-codex" })).toEqual({
      kind: "completed",
    });
    const { recorder, model } = bench;
    expect(model.requests).toHaveLength(4);
    expect(recorder.of("message").map(({ text }) => text)).toEqual(["the parent's answer"]);
    expect(recorder.of("turn_started", "turn_completed").map(({ kind }) => kind)).toEqual([
      "turn_started",
      "turn_completed",
    ]);
    const own = recorder.of("tokens").filter(({ subAgent }) => !subAgent);
    const theirs = recorder.of("tokens").filter(({ subAgent }) => subAgent);
    expect(own.every(({ threadId }) => threadId === session.threadId)).toBe(true);
    expect(own.at(-1)?.total.input).toBe(300);
    expect(theirs.some(({ threadId }) => threadId === session.threadId)).toBe(false);
    expect(theirs.at(-1)?.total.input).toBe(7000);
    expect(neighbour.of("tokens", "turn_started", "message")).toEqual([]);
    expect((own.at(-1)?.total.input ?? 0) + (theirs.at(-1)?.total.input ?? 0)).toBe(model.reported.input);
  },
);
