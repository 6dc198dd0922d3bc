/** Many tickets at once: nothing in dispatch waits for another ticket's workspace or process. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { writeBoard } from "./board.ts";
import { makeSurroundings, processesBelow } from "./command-line.ts";

const COUNT = 50;
/** An agent that says nothing: it notes that it was started, and waits for the end of its input. */
const SILENT_AGENT = 'touch "../../started/$$" && cat > /dev/null';

test("fifty ready tickets are spawned side by side: all of them are there before any is finished", async () => {
  await using user = await makeSurroundings();
  const tickets = Array.from({ length: COUNT }, (_, index) => `MANY-${index + 1}`);
  const workflow = await writeBoard(user.dir, { tickets, script: null });
  await writeFile(
    workflow,
    `---
tracker: { kind: local, provider: { path: ./board } }
workspace: { root: ./workspaces }
hooks: { after_create: mkdir -p ../../started }
agent: { max_concurrent_agents: ${COUNT} }
codex: { command: '${SILENT_AGENT}', start_timeout_ms: 600000 }
state: { dir: ./state }
---
Work on {{ issue.identifier }}.
`,
  );
  const daemon = user.start([]);
  // None of them answers the handshake, so none can end: one that waited for another would never be there.
  await until(
    "all agents are started",
    async () => (await readdir(join(user.dir, "started")).catch(() => [])).length === COUNT,
  );
  const { stdout } = await user.run(["runs", "--json"]);
  const runs = JSON.parse(stdout) as { issue_identifier: string; ended_at: string | null }[];
  expect(new Set(runs.map((run) => run.issue_identifier))).toEqual(new Set(tickets));
  expect(runs.filter((run) => run.ended_at !== null)).toEqual([]);

  daemon.kill("SIGTERM");
  daemon.kill("SIGINT");
  expect((await daemon.ended).code).toBe(130);
  expect(processesBelow(user.root)).toEqual([]);
});
