import { describe, expect, it } from "vitest";
import { codexBench, type CodexBench } from "../../../test/fakes/codex-bench.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { isTooOld } from "./versions.ts";

/** Warnings about versions after a look, two sessions and one more look at this agent. */
async function warnings(userAgent: string): Promise<readonly unknown[]> {
  const my = codexBench();
  my.server.on("initialize", () => ({ result: { userAgent } }));
  await look(my);
  for (let session = 0; session < 2; session += 1) await (await my.open()).close();
  await look(my);
  return my.log
    .warnings()
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ version }) => version !== undefined);
}

async function look(my: CodexBench): Promise<void> {
  const request = { settings: makeSettings(), cwd: "/anywhere", runMarker: "check", spawned: () => {} };
  await my.backend.check({ ...request, signal: new AbortController().signal });
}

describe("a version of the app-server", () => {
  it("that is newer than the tested ones is warned about once", async () => {
    expect(await warnings("symphony/0.172.0 (Debian)")).toMatchObject([
      { version: "0.172.0", tested: "0.100.0 to 0.171.0", msg: expect.stringContaining("symphony protocol check") },
    ]);
    expect(await warnings("symphony/1.0.0-alpha.1 (Debian)")).toHaveLength(1);
  });

  it.each([
    "symphony/0.171.0 (Debian)",
    "symphony/0.100.0 (Debian)",
    "symphony/0.139.3 (Debian)",
    "symphony/0.0.0 (a build from source)",
    "other-agent/7.0.0 (not codex)",
    "nothing that names a version",
  ])("that is tested, or can't be told, is not: %s", async (userAgent) => {
    expect(await warnings(userAgent)).toEqual([]);
  });

  it("below 0.100.0 is refused before anything is asked of it", async () => {
    const my = codexBench();
    my.server.on("initialize", () => ({ result: { userAgent: "symphony/0.99.9 (Debian)" } }));
    await expect(my.open()).rejects.toMatchObject({
      failure: { message: expect.stringContaining("0.100.0 or newer") },
    });
    expect(my.server.received.map(({ method }) => method)).toEqual(["initialize"]);
  });

  it.each([
    ["0.58.0", true],
    ["0.99.12", true],
    ["0.100.0", false],
    ["0.100.0-alpha.1", false],
    ["0.171.0", false],
    ["1.0.0", false],
    ["0.0.0", false],
    ["simulated/0.1.0", false],
  ])("%s is too old: %s", (version, tooOld) => {
    expect(isTooOld(version)).toBe(tooOld);
  });
});

it("what the log says about a session names its issue", async () => {
  const my = codexBench();
  const session = await my.open();
  my.server.ask("item/unheard/requestApproval");
  await my.server.answerTo(0);
  await session.close();
  expect(my.log.warnings().map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { issue_id: "id-1", issue_identifier: "T-1", thread_id: session.threadId, method: "item/unheard/requestApproval" },
  ]);
});
