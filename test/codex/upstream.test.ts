/** What lies beyond the real agent: a model server that isn't there, and pictures that must reach the one that is. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../fakes/responses-server.ts";
import { AgentBench, inOrder } from "./agent-bench.ts";

/** A PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("a picture on disk reaches the model as it is", async () => {
  await using bench = await AgentBench.make(inOrder(say("a pixel")));
  const path = join(bench.dir, "pixel.png");
  await writeFile(path, Buffer.from(PIXEL, "base64"));
  const session = await bench.open();
  expect(await bench.turn(session, { prompt: "What is it?", images: [path] })).toEqual({ kind: "completed" });
  const body = JSON.stringify(bench.model.requests[0]?.body);
  expect(body).toContain('"type":"input_image"');
  expect(body).toContain(`data:image/png;base64,${PIXEL.slice(0, 40)}`);
});

test("a model server that refuses connections ends the turn as one to try again, and the thread goes on once it is there", async () => {
  await using bench = await AgentBench.make(inOrder(say("there again")));
  const path = join(bench.codexHome, "config.toml");
  const right = await readFile(path, "utf8");
  // Nothing listens on port 1, and nobody but root may.
  await writeFile(path, right.replace(bench.model.baseUrl, "http://127.0.0.1:1/v1"));
  const first = await bench.open();
  expect(await bench.turn(first)).toMatchObject({
    kind: "failed",
    class: "agent",
    retryable: true,
    freshThread: false,
  });
  await first.close();
  await writeFile(path, right);
  const second = await bench.open({}, {}, { threadId: first.threadId, binding: first.binding });
  expect(second.resumed).toBe(true);
  expect(await bench.turn(second)).toEqual({ kind: "completed" });
});
