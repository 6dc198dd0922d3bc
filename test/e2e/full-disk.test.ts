/** A daemon whose state can't be written for a while: nothing new starts, it says so, and it goes on by itself. */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mountSmallDisk } from "../chaos/small-disk.ts";
import type { Explanation } from "../../src/scheduler/explain.ts";
import { TestDaemon } from "../support/test-daemon.ts";

const DONE = { do: "tool", tool: "local_board", arguments: { action: "move", state: "Done" } };

/** What stands in the way of writing, and how it is taken away again. */
interface Trouble {
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
  /** What the status says meanwhile. */
  readonly says: RegExp;
  clear(): void;
}

/** A real disk that is full, where one can be mounted (by root); else the ledger is away from its place, which counts as much. */
function makeTrouble(stateDir: string): Trouble {
  const disk = mountSmallDisk(stateDir);
  if (typeof disk !== "string") {
    const says = /free some disk space/;
    return { begin: () => disk.fill(), end: () => disk.free(), says, clear: () => disk.unmount() };
  }
  const ledger = join(stateDir, "ledger.db");
  return {
    begin: () => rename(ledger, `${ledger}.away`),
    end: () => rename(`${ledger}.away`, ledger),
    says: /was removed or replaced/,
    clear: () => undefined,
  };
}

test("a full disk holds back what is new, is said once and shown, and passes by itself", async () => {
  await using daemon = await TestDaemon.make();
  const trouble = makeTrouble(join(daemon.dir, "state"));
  try {
    await daemon.writeWorkflow();
    await daemon.writeScript({ "T-1": [[[DONE]]] });
    await daemon.start();
    await trouble.begin();
    await daemon.writeTicket("T-1");
    const error = await daemon.until("the ledger's trouble shows", (snapshot) => snapshot.ledger.last_error);
    expect(error).toMatchObject({ message: expect.stringMatching(trouble.says) });
    await daemon.until("it was tried again", ({ ledger }) => ledger.last_error?.["at"] !== error["at"]);
    const { gates } = JSON.parse((await daemon.ask("GET", "/api/v1/issues/T-1/explain")).text) as Explanation;
    expect(gates.filter(({ pass }) => !pass)).toMatchObject([
      { gate: "pause_ledger", value: expect.stringMatching(trouble.says) },
    ]);
    expect(daemon.snapshot().counts).toMatchObject({ running: 0, retrying: 0 });
    expect(daemon.logged("the ledger can't be written; scheduling waits")).toHaveLength(1);
    await trouble.end();
    const [run] = await daemon.untilRunsEnded("T-1");
    expect(run).toMatchObject({ outcome: "succeeded", attempt: null });
    expect(daemon.snapshot().ledger.last_error).toBe(null);
  } finally {
    await daemon.stop();
    trouble.clear();
  }
});
