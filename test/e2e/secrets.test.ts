/** The tracker's key stays with the daemon: agent, commands, hooks, logs and files do without it, and the work is done all the same. */
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { simulatedAgentCommand } from "../../src/agent/simulated/command.ts";
import { startLinearServer, type LinearServer } from "../fakes/linear/server.ts";
import { makeSurroundings } from "./command-line.ts";

const MOVE =
  "mutation Move($id: String!, $state: String!) { issueUpdate(id: $id, input: { stateId: $state }) { success } }";

/** Everything that a command of the agent can find out about its own environment and its parents'. */
const LOOK =
  "env > seen-env.txt; for pid in self $PPID; do tr '\\\\0' '\\\\n' < /proc/$pid/environ; done > seen-proc.txt";

function script(server: LinearServer, issueId: string): unknown {
  const state = [...server.board.states.values()].find((row) => row.name === "Done");
  const move = {
    do: "tool",
    tool: "linear_graphql",
    arguments: { query: MOVE, variables: { id: issueId, state: state?.id ?? "" } },
  };
  return { tickets: { "*": { runs: [{ turns: [{ steps: [{ do: "shell", command: LOOK }, move] }] }] } } };
}

function workflow(server: LinearServer, command: string): string {
  return `---
tracker:
  kind: linear
  provider: { endpoint: "${server.url}", project_slug: demo, api_key: $TRACKER_KEY }
polling: { interval_ms: 200 }
workspace: { root: ./workspaces, on_terminal: keep }
hooks: { before_run: env > seen-hook.txt }
codex:
  command: ${JSON.stringify(command)}
  env_inherit: all
state: { dir: ./state }
---
Work on {{ issue.identifier }}.
`;
}

/** Contents of every file below `dir`, byte by byte, by path. */
async function contentsBelow(dir: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (path) => [path, await readFile(path, "latin1")] as const)));
}

test("the key is in no environment, log line, ledger row or file, whatever name it comes by", async () => {
  await using user = await makeSurroundings();
  const key = `k3y-${randomUUID()}`;
  const server = await startLinearServer({ apiKey: key });
  try {
    const issue = server.board.createIssue({ title: "Look around" });
    await writeFile(join(user.dir, "script.json"), JSON.stringify(script(server, issue.id)));
    const command = simulatedAgentCommand({
      script: join(user.dir, "script.json"),
      home: join(user.dir, "agent-home"),
    });
    await writeFile(join(user.dir, "WORKFLOW.md"), workflow(server, command));
    // A profile can bring the key back after the daemon has taken it out.
    await writeFile(join(user.home, ".bash_profile"), `export TRACKER_KEY='${key}' FROM_PROFILE='${key}'\n`);
    const planted = { TRACKER_KEY: key, LINEAR_API_KEY: key, COPY: key, HEADER: `Bearer ${key}`, HARMLESS: "kept" };

    const daemon = user.start(["--log-level", "trace", "--log-file", "symphony.log"], planted);
    await daemon.says('"msg":"run completed"');
    daemon.kill("SIGTERM");
    const { code, stdout, stderr } = await daemon.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    const moved = server.board.issues.get(issue.id);
    expect(server.board.states.get(moved?.stateId ?? "")?.name).toBe("Done");

    const files = await contentsBelow(user.dir);
    const named = (name: string): string => [...files].find(([path]) => path.endsWith(name))?.[1] ?? "";
    const sights = ["seen-env.txt", "seen-proc.txt", "seen-hook.txt"].map(named);
    for (const sight of sights) expect(sight).toContain("HARMLESS=kept");
    expect(named("symphony.log")).toContain("run completed");
    expect(named("ledger.db").length).toBeGreaterThan(0);
    expect([...files].filter(([, content]) => content.includes(key)).map(([path]) => path)).toEqual([]);
    expect(stderr).not.toContain(key);
    expect([...(await contentsBelow(user.tmp))].filter(([, content]) => content.includes(key))).toEqual([]);
  } finally {
    await server.close();
  }
});
