/** A ticket that is moved in Linear starts when the delivery comes, however far away the next poll is. */
import { readFile } from "node:fs/promises";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LinearServer } from "../fakes/linear/server.ts";
import { startLinearServer } from "../fakes/linear/server.ts";
import { TestDaemon } from "../support/test-daemon.ts";

const GUIDE = new URL("../../docs/trackers/linear.md", import.meta.url);
const SECRET = "the-signing-secret";

let my: TestDaemon;
let linear: LinearServer;

beforeEach(async () => {
  linear = await startLinearServer();
  my = await TestDaemon.make();
  await my.writeScript({ "ENG-1": [[[{ do: "say", text: "at work" }, { do: "hang" }]]] });
});

afterEach(async () => {
  await my[Symbol.asyncDispose]();
  await linear.close();
});

async function start(server: Readonly<Record<string, unknown>>): Promise<void> {
  await my.writeWorkflow({
    tracker: { kind: "linear", provider: { endpoint: linear.url, project_slug: "demo" } },
    polling: { interval_ms: 3_600_000 },
    server: { webhooks: { linear: { secret: "$LINEAR_WEBHOOK_SECRET" } }, ...server },
  });
  await my.start({ env: { LINEAR_API_KEY: linear.apiKey, LINEAR_WEBHOOK_SECRET: SECRET } });
  await my.until("the first poll is over", ({ tracker }) => tracker.last_ok_at);
}

/** The guide's own recipe, sent to where the daemon listens. */
async function runRecipe(secret: string): Promise<{ readonly exitCode?: number; readonly stdout: string }> {
  const blocks = [...(await readFile(GUIDE, "utf8")).matchAll(/```sh\n(.*?)```/gs)].map(([, code]) => code ?? "");
  const recipe = blocks.find((code) => code.includes("linear-signature")) ?? expect.fail("the guide has no recipe");
  const script = recipe.replace("http://127.0.0.1:8787", my.daemon.url ?? expect.fail("no port"));
  return execa("bash", ["-euo", "pipefail", "-c", script], { env: { LINEAR_WEBHOOK_SECRET: secret }, reject: false });
}

describe("with a webhook", () => {
  it("the recipe of the guide starts a ticket that was moved, an hour before the next poll", async () => {
    const { id } = linear.board.createIssue({ title: "a", state: "Backlog" });
    await start({ port: 0 });
    linear.board.moveIssue(id, "Todo");
    const sent = await runRecipe(SECRET);
    expect(sent).toMatchObject({ exitCode: 0, stdout: '{"accepted":true,"wakes":true}' });
    await my.untilInTurn("ENG-1");
    expect(my.snapshot().tracker["last_webhook_at"]).toEqual(expect.any(String));
  });

  it("a delivery of somebody else is refused and reads nothing", async () => {
    await start({ port: 0 });
    const before = linear.requests.length;
    const sent = await runRecipe("another-secret");
    expect(sent.exitCode).not.toBe(0);
    expect(sent.stdout).toContain("bad_request");
    expect(my.snapshot().tracker["last_webhook_at"]).toBeNull();
    expect(linear.requests).toHaveLength(before);
    expect(my.log.lines().join("\n")).not.toContain(SECRET);
  });

  it("but no port, the log says that none can come", async () => {
    await start({});
    expect(my.daemon.url).toBeNull();
    expect(my.log.warnings().join("\n")).toContain("server.webhooks.linear.secret has no effect without a port");
  });
});
