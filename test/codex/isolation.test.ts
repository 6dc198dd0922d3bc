/** What the agent's own commands can't reach on the real binary: secrets of the user's profile, and other tickets' workspaces. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { callTool, runCommand, say } from "../fakes/responses-server.ts";
import { AgentBench, inOrder } from "./agent-bench.ts";
import { FULL_ACCESS, sandboxWorks } from "./codex-binary.ts";

test("a secret that the profile exports reaches no command of the agent, and the profile's PATH does", async () => {
  const look = "env; command -v brewed; sleep 0.3";
  await using bench = await AgentBench.make(
    inOrder(runCommand(look), runCommand(look), callTool("exec_command", { cmd: look, login: true }), say("done")),
  );
  const tools = join(bench.dir, "tools");
  await mkdir(tools);
  await writeFile(join(tools, "brewed"), "#!/bin/sh\n", { mode: 0o755 });
  const profile = `export PROFILE_SECRET=leaked JAVA_HOME=/opt/java PATH="$PATH:${tools}"\n`;
  await writeFile(join(bench.dir, ".bash_profile"), profile);
  const session = await bench.open({ turnSandboxPolicy: FULL_ACCESS });
  expect(await bench.turn(session)).toEqual({ kind: "completed" });
  const [first, second, login] = bench.model.requests.at(-1)?.outputs ?? [];
  for (const output of [first, second]) {
    expect(output).toContain("JAVA_HOME=/opt/java");
    expect(output).toContain(join(tools, "brewed"));
    expect(output).not.toContain("leaked");
  }
  expect(login).toContain("login shell is disabled");
});

test("workspaces in the system's temporary folder are closed to the agents of other tickets, which have a TMPDIR of their own", async () => {
  const deeds = [
    "touch ../T-2/planted && echo reached another",
    'touch "$TMPDIR/scratch" && mktemp >/dev/null && echo has scratch room',
    "touch here && echo works",
    'echo "at $TMPDIR"',
  ];
  const look = runCommand(`${deeds.join("; ")}; sleep 0.3`);
  await using bench = await AgentBench.make(inOrder(look, say("done"), look, say("done")));
  const root = dirname(bench.work);
  await mkdir(join(root, "T-2"));
  const temporary = join(root, ".symphony", "tmp");
  const works = await sandboxWorks({ PATH: process.env["PATH"] ?? "", HOME: bench.dir, CODEX_HOME: bench.codexHome });
  const first = await bench.open();
  expect(await bench.turn(first)).toEqual({ kind: "completed" });
  expect(await readdir(join(temporary, "T-1"))).toContain("scratch");
  await first.close();
  expect(await readdir(temporary)).toEqual([]);
  const second = await bench.open({}, {}, { threadId: first.threadId, binding: first.binding });
  expect(second.resumed).toBe(true);
  expect(await bench.turn(second)).toEqual({ kind: "completed" });
  expect(await readdir(join(root, "T-2"))).toEqual([]);
  if (!works) return;
  for (const request of [bench.model.requests[1], bench.model.requests[3]]) {
    const said = request?.outputs.at(-1) ?? "";
    expect(said).not.toContain("reached another");
    for (const words of ["has scratch room", "works", `at ${join(temporary, "T-1")}`]) expect(said).toContain(words);
  }
});
