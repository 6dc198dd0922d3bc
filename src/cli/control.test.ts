/** The commands that ask a daemon, as people type them, against a whole daemon with simulated agents. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { issueId } from "../domain/ids.ts";
import { explanationLines } from "./explain.ts";
import { runProgram, type Said } from "../../test/support/program.ts";
import { TestDaemon } from "../../test/support/test-daemon.ts";

const HANG = [[[{ do: "hang" }], [{ do: "hang" }], [{ do: "hang" }]]];
const ASK = [[[{ do: "ask", about: "command", command: "echo hello" }, { do: "hang" }]]];

let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await TestDaemon.make();
  await daemon.writeScript({ "ENG-1": HANG, "ENG-2": ASK });
  await daemon.writeWorkflow({
    codex: { command: daemon.agentCommand(), approval_policy: "on-request" },
    approvals: { commands: "ask" },
  });
  await daemon.writeTicket("ENG-1");
  await daemon.writeTicket("ENG-2");
  await writeFile(join(daemon.dir, "board", "ENG-8.md"), "---\nstate: Todo\n---\nWithout a title.\n");
  await daemon.writeTicket("ENG-9", { state: "Dooing" });
  await daemon.start();
  await daemon.untilInTurn("ENG-1");
  await daemon.until("ENG-2 asks", ({ running }) => running.find((row) => row["question"] !== null));
});

afterAll(() => daemon[Symbol.asyncDispose]());

/** In the workflow's folder, with no option that names it. */
function run(...args: readonly string[]): Promise<Said> {
  return runProgram({ dir: daemon.dir, home: daemon.dir, tmp: daemon.dir }, args);
}

it("explain names every gate with what was looked at", async () => {
  const { code, stdout } = await run("explain", "eng-1");
  expect(code).toBe(0);
  expect(stdout).toContain("ENG-1 is running (Todo): Ticket ENG-1\n");
  expect(stdout).toMatch(/ok +slot +2 of 10 in use, one of them by this ticket/);
  const json = JSON.parse((await run("explain", "ENG-1", "--json")).stdout) as { verdict: string };
  expect(json.verdict).toBe("running");
});

it("explain and status name the file and the fault of a ticket that can't be worked on", async () => {
  const broken = await run("explain", "eng-8");
  expect(broken.code).toBe(0);
  expect(broken.stdout).toContain("ENG-8 can't start (not readable)");
  expect(broken.stdout).toMatch(/NO +record +\S*board\/ENG-8\.md:2: title is missing; give it a value\n/);
  const lost = await run("explain", "ENG-9");
  expect(lost.stdout).toContain("ENG-9 can't start (Dooing): Ticket ENG-9");
  expect(lost.stdout).toMatch(/NO +record +\S*board\/ENG-9\.md: state Dooing is none of Todo, In Progress, Done, /);
  const { stdout } = await run("status");
  expect(stdout).toMatch(/\nskipped ENG-8: \S*board\/ENG-8\.md:2: title is missing/);
  expect(stdout).toMatch(/\nENG-2 asks: .*echo hello.* \(symphony answer ENG-2\)\n/);
  expect(stdout).toMatch(/\nskipped ENG-9: \S*board\/ENG-9\.md: state Dooing is none of /);
});

it("explain shows a ticket's text without what a terminal would obey, and how a closed gate is opened", () => {
  const gate = { gate: "required_labels", pass: false, value: "has \u001b[2Jx", mend: "label it" };
  const lines = explanationLines({
    issue_identifier: "ENG-1",
    title: "Red \u001b[31mtext",
    state: "Todo\u202e",
    verdict: "held",
    gates: [gate],
  });
  expect(lines).toEqual([
    "ENG-1 can't start (Todo\\u202e): Red \\x1b[31mtext",
    "",
    "    GATE             WHAT IS SEEN",
    "NO  required_labels  has \\x1b[2Jx",
    "",
    "required_labels: label it",
  ]);
});

it("a ticket that nobody knows ends with the daemon's words and exit code 1", async () => {
  const { code, stdout, stderr } = await run("explain", "ENG-99");
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^symphony: ENG-99 is neither claimed nor among the candidates of the last poll: /);
  expect((await run("stop", "ENG-99")).code).toBe(1);
});

it("steer takes its words with or without quotes", async () => {
  expect(await run("steer", "ENG-1", "mind", "the gap")).toMatchObject({
    code: 0,
    stdout: "the message goes into the running turn of ENG-1\n",
  });
  await daemon.until("the agent has noted it", ({ running }) =>
    running.some((row) => String(row["last_message"]).includes("mind the gap")),
  );
});

it("events shows what an agent did, and with --follow what it goes on to do until Ctrl-C", async () => {
  const { code, stdout } = await run("events", "eng-1", "--limit", "1", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toHaveLength(1);
  const user = { dir: daemon.dir, home: daemon.dir, tmp: daemon.dir };
  const followed = await runProgram(user, ["events", "ENG-1", "--follow"], (heard) => {
    if (heard.includes("turn_started") && !heard.includes("onwards")) {
      daemon.daemon.orchestrator.operate({ kind: "steer", issueId: issueId("ENG-1"), text: "onwards" });
    }
    if (/message +Noted: .*onwards/.test(heard)) process.emit("SIGINT", "SIGINT");
  });
  expect(followed).toMatchObject({ code: 0, stderr: "" });
  expect(followed.stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}session_started/);
  expect((await run("events", "ENG-99")).stderr).toContain("it was never claimed; symphony explain ENG-99 says why");
});

it("status --watch shows each change until Ctrl-C, and top without a terminal is the status", async () => {
  const user = { dir: daemon.dir, home: daemon.dir, tmp: daemon.dir };
  const watched = await runProgram(user, ["status", "--watch", "--json"], (heard) => {
    const lines = heard.trim().split("\n");
    if (lines.length === 1) daemon.daemon.orchestrator.operate({ kind: "refresh" });
    else process.emit("SIGINT", "SIGINT");
  });
  expect(watched.code).toBe(0);
  for (const line of watched.stdout.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("generated_at");
  expect((await run("top")).stdout).toContain("2 running, 0 waiting, 0 blocked; running");
});

it("answer finds the question by its ticket, and says which are open when there is none", async () => {
  expect((await run("answer", "ENG-1")).stderr).toMatch(/ENG-1 has no open question.*\n.*ENG-2 asks/);
  expect((await run("answer", "eng-2", "--decline", "--text", "no")).code).toBe(2);
  expect(await run("answer", "eng-2", "--decline")).toMatchObject({
    code: 0,
    stdout: "the agent of ENG-2 gets the answer\n",
  });
  await daemon.until("ENG-2 asks no more", ({ running }) => running.every((row) => row["question"] === null));
  expect((await run("answer", "ENG-2")).stderr).toContain("no question is open at all");
});

it("a command that doesn't fit is refused with what would help, and --json keeps stdout clean", async () => {
  const { code, stdout, stderr } = await run("retry", "ENG-1", "--json");
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("`stop` it first");
});

it("pause, refresh and resume say what happens now", async () => {
  expect((await run("pause")).stdout).toMatch(/^paused: /);
  expect(JSON.parse((await run("refresh", "--json")).stdout)).toMatchObject({ queued: true });
  expect(JSON.parse((await run("resume", "--json")).stdout)).toMatchObject({ accepted: true });
});

it("status tells each fault of a broken workflow file once, on a line of its own", async () => {
  const file = join(daemon.dir, "WORKFLOW.md");
  const good = await readFile(file, "utf8");
  await writeFile(
    file,
    "---\ntracker: {kind: local, provider: {path: ./board}}\npolling: {interval_ms: 0}\nagent: {max_turns: 0}\nstate: {dir: ./state}\n---\n",
  );
  await daemon.until("it is broken", ({ workflow }) => workflow.last_error !== null);
  const { stdout } = await run("status");
  expect(stdout).toMatch(/\npaused \(workflow\): nothing new starts until the workflow error below is mended\n/);
  expect(
    stdout.match(
      /^workflow error, .* ago: .*WORKFLOW\.md:3: polling\.interval_ms: 0 is .*; write one such as 30000$/gm,
    ),
  ).toHaveLength(1);
  expect(stdout.match(/^workflow error, .* ago: .*WORKFLOW\.md:4: agent\.max_turns: 0 .*$/gm)).toHaveLength(1);
  expect(stdout.match(/max_turns/g)).toHaveLength(1);
  await writeFile(file, good);
  await daemon.until("it is mended", ({ workflow }) => workflow.last_error === null);
});

it("drain returns at once, and with --wait when no run is left", async () => {
  expect((await run("drain")).stdout).toMatch(/^draining: /);
  await daemon.untilInTurn("ENG-1");
  const waiting = run("drain", "--wait");
  daemon.daemon.orchestrator.operate({ kind: "stop", issueId: issueId("ENG-1") });
  daemon.daemon.orchestrator.operate({ kind: "stop", issueId: issueId("ENG-2") });
  const { code, stdout } = await waiting;
  expect(code).toBe(0);
  expect(stdout).toMatch(/\ndrained: no run is left\n$/);
});

it("without a workflow file, says that the daemon can't be found by it", async () => {
  const { code, stderr } = await run("pause", "--workflow", "nowhere.md");
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^symphony: \S*\/nowhere\.md is no file that can be read, .*; name the file with --workflow, or /,
  );
});

it("without a daemon, says how to start one", async () => {
  const { code, stderr } = await run("pause", "--state-dir", "nowhere");
  expect(code).toBe(1);
  expect(stderr).toMatch(/no daemon runs here \(.*nowhere\/control\.sock\); start one with: symphony WORKFLOW\.md/);
});
