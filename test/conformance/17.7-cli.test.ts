import { join } from "node:path";
import { mkdir, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeBoard } from "../e2e/board.ts";
import { makeSurroundings, type Surroundings } from "../e2e/command-line.ts";
import { runProgram } from "../support/program.ts";

let user: Surroundings;

beforeEach(async () => {
  user = await makeSurroundings();
});

afterEach(() => user[Symbol.asyncDispose]());

/** An empty board: a daemon that has nothing to do. */
function board(dir: string, more = ""): Promise<string> {
  return writeBoard(dir, { tickets: [], script: null, more });
}

describe("17.7 Command line and lifecycle", () => {
  it("the path of the workflow is a positional argument", async () => {
    await mkdir(join(user.dir, "elsewhere"));
    const workflow = await board(join(user.dir, "elsewhere"));
    const daemon = user.start([workflow]);
    await daemon.says("daemon started");
    expect(daemon.stderr()).toContain(workflow);
    daemon.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
  });

  it("without a path ./WORKFLOW.md is used", async () => {
    const workflow = await board(user.dir);
    const daemon = user.start([]);
    await daemon.says("daemon started");
    expect(daemon.stderr()).toContain(workflow);
    daemon.kill("SIGTERM");
    await daemon.ended;
  });

  it("a missing file is one line and exit 1", async () => {
    for (const args of [[], ["nowhere/WORKFLOW.md"]]) {
      const { code, stdout, stderr } = await runProgram(user, args);
      expect([code, stdout, stderr.trimEnd().split("\n").length]).toEqual([1, "", 1]);
      expect(stderr).toContain(args[0] ?? "WORKFLOW.md");
    }
  });

  it("a failed start is one line and exit 1", async () => {
    const workflow = join(user.dir, "WORKFLOW.md");
    await writeFile(workflow, "---\ntracker: { kind: trello }\n---\nWork.\n");
    const { code, stderr } = await runProgram(user, [workflow]);
    expect([code, stderr.trimEnd().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("trello");
  });

  it("a clean stop exits with 0", async () => {
    const daemon = user.start([await board(user.dir)]);
    await daemon.says("daemon started");
    daemon.kill("SIGINT");
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
  });

  it("a killed daemon exits with another code", async () => {
    const daemon = user.start([await board(user.dir)]);
    await daemon.says("daemon started");
    daemon.kill("SIGKILL");
    expect(await daemon.ended).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  it("--port wins over server.port", async () => {
    // Nobody but root may listen on port 1, and the daemon isn't asked to.
    const daemon = user.start([await board(user.dir, "server: { port: 1 }"), "--port", "0"]);
    await daemon.says("API is served");
    const url = /http:\/\/127\.0\.0\.1:(\d+)/.exec(daemon.stderr())?.[1];
    expect(Number(url)).toBeGreaterThan(1);
    daemon.kill("SIGTERM");
    await daemon.ended;
  });

  it("a second daemon says who owns the first", async () => {
    const workflow = await board(user.dir);
    const first = user.start([workflow]);
    await first.says("daemon started");
    const { code, stderr } = await runProgram(user, [workflow]);
    expect(code).toBe(1);
    expect(stderr).toContain(`pid ${first.pid}`);
    first.kill("SIGTERM");
    await first.ended;
  });
});
