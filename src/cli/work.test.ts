/** One ticket in the foreground: a daemon in this process, simulated agents, and the exit code that a script sees. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { runProgram, type Said } from "../../test/support/program.ts";
import { TestDaemon } from "../../test/support/test-daemon.ts";

let place: TestDaemon;

beforeEach(async () => {
  place = await TestDaemon.make();
});

afterEach(() => place[Symbol.asyncDispose]());

function work(issue: string, ...options: readonly string[]): Promise<Said> {
  const user = { dir: place.dir, home: place.dir, tmp: place.dir };
  return runProgram(user, ["work", issue, "--log-level", "silent", ...options]);
}

const DONE = [[[{ do: "tool", tool: "local_board", arguments: { action: "move", state: "Done" } }]]];

it("works that ticket alone to its end, and tells what its agent does", async () => {
  await place.writeScript({ "*": DONE });
  await place.writeWorkflow();
  await place.writeTicket("ENG-1", { priority: 1 });
  await place.writeTicket("ENG-2", { priority: 4 });
  const { code, stdout, stderr } = await work("eng-2");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/ {2}turn_completed\n/);
  expect(stdout).toMatch(/\nENG-2 done: its state is Done\n$/);
  expect(place.runs().map((run) => [run.issue_identifier, run.outcome])).toEqual([["ENG-2", "succeeded"]]);
});

it("ends with 1 when a run fails, and goes on with the ticket when it is asked again", async () => {
  const fail = { do: "fail", message: "the model answered 500" };
  await place.writeScript({ "ENG-1": [[[fail]], ...DONE] });
  await place.writeWorkflow();
  await place.writeTicket("ENG-1");
  const first = await work("ENG-1", "--json");
  expect(first.code).toBe(1);
  expect(JSON.parse(first.stdout)).toMatchObject({
    issue_identifier: "ENG-1",
    outcome: "failed",
    message: expect.stringContaining("the model answered 500"),
    runs: 1,
    turns: 1,
  });
  expect(first.stderr).toContain("turn_failed");
  expect((await work("ENG-1")).code).toBe(0);
});

it("ends with 3 when the ticket is blocked", async () => {
  await place.writeScript({ "ENG-1": [[[{ do: "say", text: "I don't know" }]]] });
  await place.writeWorkflow({ agent: { max_turns: 1, max_idle_runs: 1 } });
  await place.writeTicket("ENG-1");
  const { code, stdout } = await work("ENG-1");
  expect(code).toBe(3);
  expect(stdout).toMatch(/\nENG-1 blocked: /);
});

it("ends with 1 when the ticket can't start, and names the gate; or isn't there", async () => {
  await place.writeWorkflow({ tracker: { kind: "local", provider: { path: "./board" }, excluded_labels: ["hold"] } });
  await place.writeTicket("ENG-1", { labels: ["hold"] });
  const held = await work("ENG-1");
  expect(held.code).toBe(1);
  expect(held.stdout).toContain("ENG-1 failed: it can't start: excluded_labels: has hold; excluded: hold");
  const unknown = await work("ENG-9");
  expect([unknown.code, unknown.stdout]).toEqual([
    1,
    "ENG-9 failed: it is not among the 1 tickets in scope that are Todo, In Progress\n",
  ]);
  await place.writeTicket("ENG-2", { state: "Dooing" });
  const malformed = await work("eng-2");
  expect(malformed.code).toBe(1);
  expect(malformed.stdout).toMatch(
    /^eng-2 failed: it can't be read: \S*board\/ENG-2\.md: state Dooing is none of Todo, /,
  );
  expect(place.runs()).toEqual([]);
});

it("stands back while a daemon works there, and says by which commands that one does the same", async () => {
  await place.writeWorkflow();
  await place.start();
  const { code, stdout, stderr } = await work("ENG-1");
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^symphony: the daemon with pid \d+ works on these tickets already, .*:\n/);
  expect(stderr).toContain(`symphony retry ENG-1 --workflow ${place.dir}/WORKFLOW.md\n`);
  expect(stderr).toContain(`symphony events ENG-1 --follow --workflow ${place.dir}/WORKFLOW.md\n`);
  expect(stderr).not.toContain("stop it first");
});
