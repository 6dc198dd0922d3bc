/** What an operator sees of Linear's hourly budget. */
import { join, resolve } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { startLinearServer } from "../fakes/linear/server.ts";
import { TestDaemon } from "../support/test-daemon.ts";

const BIN = resolve(import.meta.dirname, "../../src/cli/bin.ts");

async function statusOf(my: TestDaemon): Promise<string> {
  const { stdout } = await execa(process.execPath, [BIN, "status", "--workflow", join(my.dir, "WORKFLOW.md")]);
  return stdout;
}

it("status says what is left of Linear's buckets and, while it throttles, until when", async () => {
  await using my = await TestDaemon.make();
  const linear = await startLinearServer();
  await using _ = { [Symbol.asyncDispose]: () => linear.close() };
  await my.writeWorkflow({
    tracker: { kind: "linear", provider: { endpoint: linear.url, project_slug: "demo" } },
    polling: { interval_ms: 100 },
  });
  await my.start({ env: { LINEAR_API_KEY: linear.apiKey } });
  await my.until("it has been polled", ({ tracker }) => tracker.last_ok_at);
  expect(my.snapshot().tracker["usage"]).toEqual({
    requests: { limit: 2_500, remaining: expect.any(Number), reset_at: expect.any(String) },
    complexity: { limit: 3_000_000, remaining: expect.any(Number), reset_at: expect.any(String) },
    throttled_until: null,
    sent: expect.any(Number),
    points: expect.any(Number),
  });
  expect(await statusOf(my)).toMatch(
    /^linear budget: 2,4\d\d of 2,500 requests and 2,\d{3},\d{3} of 3,000,000 points an hour left, \d+ requests sent$/m,
  );
  linear.buckets.drain({ requests: 0 });
  await my.until("it is throttled", ({ tracker }) => JSON.stringify(tracker["usage"]).includes('"throttled_until":"'));
  expect(await statusOf(my)).toMatch(/^linear throttles us until \d{4}-\d\d-\d\dT/m);
});

it("a tracker without such figures has none", async () => {
  await using my = await TestDaemon.make();
  await my.writeWorkflow();
  await my.start();
  expect(my.snapshot().tracker["usage"]).toBeNull();
  expect(await statusOf(my)).not.toContain("budget");
});
