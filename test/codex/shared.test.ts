/** Sessions of the real binary in one process: what is asked, ended and killed for one of them is its own. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentSession, SessionRequest } from "../../src/agent/port.ts";
import type { CodexSettings, Settings } from "../../src/domain/settings.ts";
import { callTool, runCommand, say } from "../fakes/responses-server.ts";
import { SessionRecorder } from "../fakes/session-recorder.ts";
import { isRunning, pidFrom } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { AgentBench, approvalsOf } from "./agent-bench.ts";
import { FULL_ACCESS } from "./codex-binary.ts";

interface Member {
  readonly session: AgentSession;
  readonly recorder: SessionRecorder;
  readonly workspacePath: string;
}

interface Wishes {
  readonly codex: Partial<CodexSettings>;
  readonly rest?: Partial<Settings>;
  readonly request: Partial<SessionRequest> & Pick<SessionRequest, "workspacePath">;
}

async function enter(bench: AgentBench, { codex, rest = {}, request }: Wishes): Promise<Member> {
  const recorder = new SessionRecorder();
  const session = await bench.open({ process: "shared", ...codex }, rest, { ...request, listener: recorder });
  return { session, recorder, workspacePath: request.workspacePath };
}

/** Two sessions that were opened at once. */
async function two(
  bench: AgentBench,
  codex: Partial<CodexSettings>,
  rest: Partial<Settings> = {},
): Promise<[Member, Member]> {
  const other = await bench.makeWorkspace("T-2");
  const [one, another] = await Promise.all([
    enter(bench, { codex, rest, request: { workspacePath: bench.work } }),
    enter(bench, { codex, rest, request: { workspacePath: other } }),
  ]);
  expect(sharedPid(one)).toBe(sharedPid(another));
  return [one, another];
}

function sharedPid({ recorder }: Member): number {
  return recorder.identities[0]?.pid ?? 0;
}

/** The command of a member's turn, and what that left in a session of its own. */
function pidsOf({ workspacePath }: Member): Promise<readonly number[]> {
  return Promise.all(["pid", "child"].map((name) => pidFrom(join(workspacePath, name))));
}

test("a person is asked by each session for itself, and answers each alone", async () => {
  await using bench = await AgentBench.make(({ text, outputs }) => {
    if (outputs.length > 0) return say("done");
    const cmd = `sleep 0.2; echo ${text.includes("task one") ? "one" : "two"} ran`;
    return callTool("exec_command", { cmd, sandbox_permissions: "require_escalated", justification: "must" });
  });
  const [one, another] = await two(bench, { approvalPolicy: "on-request" }, approvalsOf("ask"));
  const turns = [bench.turn(one.session, { prompt: "task one" }), bench.turn(another.session, { prompt: "task two" })];
  const [first, second] = await Promise.all(
    [one, another].map(({ recorder }) => until("it asks", () => recorder.questions.at(-1) ?? null)),
  );
  expect(first?.subject).toContain("one ran");
  expect(second?.subject).toContain("two ran");
  expect(one.session.answer(second?.id ?? "", { accept: true, text: null })).toBe(false);
  expect(another.session.answer(second?.id ?? "", { accept: true, text: null })).toBe(true);
  expect(one.session.answer(first?.id ?? "", { accept: false, text: null })).toBe(true);
  expect(await Promise.all(turns)).toEqual([{ kind: "completed" }, { kind: "completed" }]);
  const told = (task: string): string | undefined =>
    bench.model.requests.findLast(({ text }) => text.includes(task))?.outputs.at(-1);
  expect(told("task two")).toContain("two ran\n");
  expect(told("task one")).toContain("rejected");
});

test("the end of a session ends its commands alone; when the process dies the others' end too, and every thread goes on", async () => {
  const work = "(setsid sleep 300 & echo $! > child); echo $$ > pid; exec sleep 300";
  await using bench = await AgentBench.make(({ outputs }) => (outputs.length > 0 ? say("done") : runCommand(work)));
  const codex = { turnSandboxPolicy: FULL_ACCESS };
  const [one, another] = await two(bench, codex);
  const [turn, othersTurn] = [bench.turn(one.session), bench.turn(another.session)];
  const [mine, theirs] = await Promise.all([pidsOf(one), pidsOf(another)]);
  await one.session.close();
  expect(await turn).toEqual({ kind: "interrupted" });
  expect(await Promise.all([...mine, ...theirs].map(isRunning))).toEqual([false, false, true, true]);

  process.kill(sharedPid(another), "SIGKILL");
  expect(await othersTurn).toMatchObject({ kind: "failed", retryable: true, freshThread: false });
  await another.session.close();
  expect(await Promise.all(theirs.map(isRunning))).toEqual([false, false]);
  for (const { session, workspacePath } of [one, another]) {
    const { threadId, binding } = session;
    const again = await enter(bench, { codex, request: { workspacePath, threadId, binding } });
    expect(again.session).toMatchObject({ threadId, resumed: true });
    expect(sharedPid(again)).not.toBe(sharedPid(another));
    expect(await bench.turn(again.session, { prompt: "go on" })).toEqual({ kind: "completed" });
  }
});
