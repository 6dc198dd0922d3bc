import { join } from "node:path";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeBoard } from "../e2e/board.ts";
import { makeSurroundings, type RunningCommand, type Surroundings } from "../e2e/command-line.ts";
import { runProgram } from "../support/program.ts";

let user: Surroundings;

beforeAll(async () => {
  user = await makeSurroundings();
});

afterAll(() => user[Symbol.asyncDispose]());

/** An empty board for a daemon that has nothing to do: its agent would be a shell that ends at once. */
async function board(dir: string, more = ""): Promise<string> {
  const workflow = await writeBoard(dir, { tickets: [], script: null, more });
  const text = await readFile(workflow, "utf8");
  await writeFile(workflow, text.replace(/^ {2}command: .*$/m, "  command: exit 1"));
  return workflow;
}

describe("17.7 Command line and lifecycle", () => {
  describe("of a daemon that is started without a path", () => {
    let workflow: string;
    let daemon: RunningCommand;

    beforeAll(async () => {
      // Nobody but root may listen on port 1, and the daemon isn't asked to.
      workflow = await board(user.dir, "server: { port: 1 }");
      daemon = user.start(["--port", "0"]);
      await daemon.says("API is served");
      await daemon.says("daemon started");
    });

    it("without a path ./WORKFLOW.md is used", () => {
      expect(daemon.stderr()).toContain(workflow);
    });

    it("--port wins over server.port", () => {
      const url = /http:\/\/127\.0\.0\.1:(\d+)/.exec(daemon.stderr())?.[1];
      expect(Number(url)).toBeGreaterThan(1);
    });

    it("a second daemon says who owns the first", async () => {
      const { code, stderr } = await runProgram(user, [workflow]);
      expect(code).toBe(1);
      expect(stderr).toContain(`pid ${daemon.pid}`);
    });

    it("a clean stop exits with 0", async () => {
      daemon.kill("SIGINT");
      expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
    });
  });

  describe("of a daemon that is started with a path", () => {
    let daemon: RunningCommand;

    it("the path of the workflow is a positional argument", async () => {
      await mkdir(join(user.dir, "elsewhere"));
      const workflow = await board(join(user.dir, "elsewhere"));
      daemon = user.start([workflow]);
      await daemon.says("daemon started");
      expect(daemon.stderr()).toContain(workflow);
    });

    it("a killed daemon exits with another code", async () => {
      daemon.kill("SIGKILL");
      expect(await daemon.ended).toMatchObject({ code: null, signal: "SIGKILL" });
    });
  });

  it("a missing file is one line and exit 1", async () => {
    await mkdir(join(user.dir, "empty"));
    for (const args of [[], ["nowhere/WORKFLOW.md"]]) {
      const { code, stdout, stderr } = await runProgram({ ...user, dir: join(user.dir, "empty") }, args);
      expect([code, stdout, stderr.trimEnd().split("\n").length]).toEqual([1, "", 1]);
      expect(stderr).toContain(args[0] ?? "WORKFLOW.md");
    }
  });

  it("a failed start is one line and exit 1", async () => {
    const workflow = join(user.dir, "FAULTY.md");
    await writeFile(workflow, "---\ntracker: { kind: trello }\n---\nWork.\n");
    const { code, stderr } = await runProgram(user, [workflow]);
    expect([code, stderr.trimEnd().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("trello");
  });
});
