/** What the machine needs to start as many agents at once when no daemon is in between: its own limit for a burst of tickets. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { AgentCommand } from "./product.ts";

const REQUESTS = [
  {
    id: 1,
    method: "initialize",
    params: { clientInfo: { name: "bench", title: "Bench", version: "1" }, capabilities: { experimentalApi: true } },
  },
  { method: "initialized" },
  { id: 2, method: "thread/start", params: { cwd: "/tmp" } },
];

async function firstThread(child: ChildProcess): Promise<number> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("spawn made no pipes");
  stdin.write(REQUESTS.map((request) => `${JSON.stringify(request)}\n`).join(""));
  for await (const line of createInterface({ input: stdout })) {
    if (line.startsWith('{"id":2,')) return performance.now();
  }
  throw new Error("the agent ended without a thread");
}

/** Milliseconds from the first spawn call until each has a thread. All are gone when it resolves. */
export async function startBareAgents(count: number, { file, args, env }: AgentCommand): Promise<readonly number[]> {
  const begun = performance.now();
  const children = Array.from({ length: count }, () =>
    spawn(file, args, { env, detached: true, stdio: ["pipe", "pipe", "ignore"] }),
  );
  const ready = await Promise.all(children.map(firstThread));
  await endAll(children);
  return ready.map((at) => at - begun);
}

/** Milliseconds until that many shells that only wait have been spawned. */
export async function spawnBareShells(count: number): Promise<number> {
  const begun = performance.now();
  const children = Array.from({ length: count }, () => spawn("/bin/sh", ["-c", "exec sleep 60"], { detached: true }));
  await Promise.all(children.map((child) => once(child, "spawn")));
  const took = performance.now() - begun;
  await endAll(children);
  return took;
}

async function endAll(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map((child) => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      return ended;
    }),
  );
}
