/** Many tickets at once: nothing in dispatch waits for another ticket's workspace or process. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { runsIn, writeBoard } from "./board.ts";
import { makeSurroundings, processesBelow } from "./command-line.ts";

const COUNT = 20;
/** Login shells by the dozen take their time on a busy machine; none of it is judged here. */
const PATIENCE_MS = 60_000;
/** An agent that says nothing: it notes that it was started, and waits for the end of its input. */
const SILENT_AGENT = 'touch "../../started/$$" && cat > /dev/null';

test(
  "twenty ready tickets are spawned side by side: all of them are there before any is finished",
  async () => {
    await using user = await makeSurroundings();
    const tickets = Array.from({ length: COUNT }, (_, index) => `MANY-${index + 1}`);
    const workflow = await writeBoard(user.dir, { tickets, script: null });
    await writeFile(
      workflow,
      `---
tracker: { kind: local, provider: { path: ./board } }
workspace: { root: ./workspaces }
agent: { max_concurrent_agents: ${COUNT} }
codex: { command: '${SILENT_AGENT}', start_timeout_ms: 600000 }
state: { dir: ./state }
---
Work on {{ issue.identifier }}.
`,
    );
    await mkdir(join(user.dir, "started"));
    const daemon = user.start([]);
    // None of them answers the handshake, so none can end: one that waited for another would never be there.
    const started = (): Promise<readonly string[]> => readdir(join(user.dir, "started"));
    await until("all agents are started", async () => (await started()).length === COUNT, PATIENCE_MS);
    const runs = runsIn(user.dir);
    expect(new Set(runs.map((run) => run.issue_identifier))).toEqual(new Set(tickets));
    expect(runs.filter((run) => run.ended_at !== null)).toEqual([]);

    daemon.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
    expect(processesBelow(user.root)).toEqual([]);
  },
  2 * PATIENCE_MS,
);
