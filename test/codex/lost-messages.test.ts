/** A client of the real binary through a proxy that says once what a busy or forgetful server would. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { say } from "../fakes/responses-server.ts";
import { AgentBench, inOrder } from "./agent-bench.ts";

const PROXY = fileURLToPath(new URL("proxy.ts", import.meta.url));

function through(bench: AgentBench, deed: string): string {
  return `'${process.execPath}' '${PROXY}' ${deed} ${bench.command}`;
}

test.each(["thread/start", "turn/start"])("a server that is overloaded at %s is asked again", async (method) => {
  await using bench = await AgentBench.make(inOrder(say("done")));
  const session = await bench.open({ command: through(bench, `refuse:${method}`) });
  expect(await bench.turn(session)).toEqual({ kind: "completed" });
  expect(bench.model.requests).toHaveLength(1);
});

test("an end of a turn that is never told is found by asking, and the thread goes on", async () => {
  await using bench = await AgentBench.make(inOrder(say("first"), say("second")));
  // Silence of a third of it makes the client ask; five seconds are its least.
  const session = await bench.open({ command: through(bench, "lose:turn/completed"), stallTimeoutMs: 15_000 });
  expect(await bench.turn(session)).toEqual({ kind: "completed" });
  expect(bench.recorder.of("warning").map(({ text }) => text)).toContainEqual(
    expect.stringContaining("without the agent telling"),
  );
  expect(bench.recorder.of("turn_completed")).toHaveLength(1);
  expect(await bench.turn(session, { prompt: "go on" })).toEqual({ kind: "completed" });
  expect(bench.model.requests.at(-1)?.text).toContain("first");
});
