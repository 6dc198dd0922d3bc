/** The log of a real process: what its lines hold, and what happens to it when nobody can take them. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";

const LOG = resolve(import.meta.dirname, "log.ts");
/** Compiled code of the project: what these processes do is small beside their start. */
const COMPILE_CACHE = resolve(import.meta.dirname, "../../node_modules/.cache/node-compile");
const RECORD = z.record(z.string(), z.unknown());

let dir: TempDir;

beforeEach(async () => {
  dir = await makeTempDir();
});

afterEach(async () => {
  await dir.dispose();
});

/** A process with a `log` at level trace that runs `body`; `dir` is the test's folder. */
async function start(
  body: string,
  stderr: "pipe" | number = "pipe",
): Promise<ChildProcessByStdio<null, Readable, null>> {
  const program = join(dir.path, "program.ts");
  await writeFile(
    program,
    `import { createLog } from ${JSON.stringify(LOG)};
     const dir = ${JSON.stringify(dir.path)};
     const log = createLog({ level: "trace", stderr: "json" });
     const turn = () => new Promise((resolve) => setImmediate(resolve));
     ${body}`,
  );
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
  return spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", stderr] }) as ChildProcessByStdio<
    null,
    Readable,
    null
  >;
}

function stderrOf(child: { readonly stderr: Readable | null }): Readable {
  if (child.stderr === null) throw new Error("stderr is no pipe");
  return child.stderr;
}

function parse(output: string): Record<string, unknown>[] {
  return output
    .trimEnd()
    .split("\n")
    .map((line) => RECORD.parse(JSON.parse(line)));
}

/** Runs `body` to its end. */
async function run(body: string): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const child = await start(body);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(stderrOf(child)),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

describe("a line", () => {
  test("is JSON on stderr: level, time, the fields of log and child, the fixed text", async () => {
    const { stdout, stderr } = await run(`
      log.child({ issue_id: "1" }).warn({ turn: 2 }, "run stalled");
      await log.close();`);
    expect(stdout).toBe("");
    expect(parse(stderr)).toEqual([
      { level: "warn", time: expect.stringMatching(/^\d{4}-.*Z$/), issue_id: "1", turn: 2, msg: "run stalled" },
    ]);
  });

  test("holds no secret: not in the text, a field, an error, its stack or cause, or a child made earlier", async () => {
    const secret = 'sw"ord\\fi\nsh';
    const { stderr } = await run(`
      const secret = ${JSON.stringify(secret)};
      const child = log.child({ bound: secret });
      log.addSecrets([secret]);
      log.info("text " + secret);
      log.info({ field: { deep: ["x" + secret] }, body: JSON.stringify({ secret }) }, "field");
      const error = Object.assign(new Error("outer " + secret, { cause: new Error("inner " + secret) }), { data: { secret } });
      log.error({ err: error }, "error");
      log.error(error);
      child.info("child");
      log.info({ headers: { authorization: "whatever" } }, "header");
      await log.close();`);
    expect(parse(stderr)).toHaveLength(6);
    for (const part of ["ord", "fi\\n", "whatever"]) expect(stderr).not.toContain(part);
    expect(stderr).toContain("outer [redacted]");
    expect(stderr).toContain("inner [redacted]");
  });

  test("that was logged right before the process exits is not lost", async () => {
    const { code, stderr } = await run(
      `for (let i = 1; i <= 500; i += 1) log.info({ i }, "last words"); process.exit(7);`,
    );
    expect(code).toBe(7);
    expect(parse(stderr).map(({ i }) => i)).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
  });
});

/** Logs more than a pipe and the queue before it hold, over many turns of the event loop, and then shows that it lives. */
const LOG_A_LOT = `
  const filler = "-".repeat(10_000);
  for (let i = 1; i <= 600; i += 1) {
    log.info({ i, filler }, "much");
    if (i % 10 === 0) await turn();
  }
  process.stdout.write("alive");`;

describe("a sink that can't take lines never stops the process:", () => {
  test("the reader has gone away", async () => {
    const child = await start(`${LOG_A_LOT} await log.close();`);
    stderrOf(child).destroy();
    const [stdout, exit] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect({ stdout, exit }).toEqual({ stdout: "alive", exit: [0, null] });
  });

  test.each([
    ["closes its log", "await log.close();"],
    ["just exits", "process.exit(0);"],
  ])("the reader stands still, and the process %s", async (_how, end) => {
    const child = await start(`${LOG_A_LOT} ${end}`);
    stderrOf(child).pause();
    const [stdout, exit] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect({ stdout, exit }).toEqual({ stdout: "alive", exit: [0, null] });
    stderrOf(child).destroy();
  });

  test("the disk is full", async () => {
    const full = openSync("/dev/full", "w");
    const child = await start(`${LOG_A_LOT} await log.close();`, full);
    closeSync(full);
    const [stdout, exit] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect({ stdout, exit }).toEqual({ stdout: "alive", exit: [0, null] });
  });

  test("the log file's folder is taken away", async () => {
    const { code, stdout, stderr } = await run(`
      const { rmSync } = await import("node:fs");
      log.addFile({ path: dir + "/logs/a.log", maxBytes: 1000, keep: 1 });
      log.info("before");
      await turn();
      rmSync(dir + "/logs", { recursive: true });
      for (let i = 0; i < 100; i += 1) { log.info("after"); await turn(); }
      process.stdout.write("alive");
      await log.close();`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "alive" });
    expect(parse(stderr)).toHaveLength(101);
  });
});

test("a slow reader gets every line or is told how many were lost", async () => {
  const child = await start(`${LOG_A_LOT}
    process.on("SIGUSR2", () => { log.info("more"); });
    setInterval(() => undefined, 1000);`);
  const stderr = stderrOf(child).pause();
  let stdout = "";
  for await (const chunk of child.stdout) {
    stdout += String(chunk);
    if (stdout === "alive") break;
  }
  let seen = "";
  for await (const chunk of stderr) {
    seen += String(chunk);
    if (seen.includes("log lines were lost") && seen.endsWith("\n")) break;
  }
  child.kill("SIGKILL");
  await once(child, "exit");
  const records = parse(seen);
  const lost = records.find(({ msg }) => msg === "log lines were lost");
  expect(lost?.["lines"]).toBeGreaterThan(0);
  expect(records.filter(({ msg }) => msg === "much").length + Number(lost?.["lines"])).toBe(600);
});

describe("a log file", () => {
  test("takes the same lines, starts anew at its size and keeps as many old ones as asked for", async () => {
    const { code, stderr } = await run(`
      log.addFile({ path: dir + "/logs/a.log", maxBytes: 2000, keep: 2 });
      log.addSecrets(["s3cr3t-value"]);
      for (let i = 1; i <= 200; i += 1) { log.info({ i }, "with s3cr3t-value"); if (i % 10 === 0) await turn(); }
      await log.close();`);
    expect(code).toBe(0);
    const folder = join(dir.path, "logs");
    expect((await readdir(folder)).toSorted()).toEqual(["a.log", "a.log.1", "a.log.2"]);
    const files = await Promise.all(
      ["a.log.2", "a.log.1", "a.log"].map((name) => readFile(join(folder, name), "utf8")),
    );
    const kept = parse(files.join("")).map(({ i }) => i);
    const all = parse(stderr).map(({ i }) => i);
    expect(kept).toEqual(all.slice(-kept.length));
    expect(files.join("")).not.toContain("s3cr3t-value");
  });

  test("that can't be opened is an error at once", async () => {
    const { stdout } = await run(`
      try { log.addFile({ path: dir, maxBytes: 1, keep: 0 }); } catch (error) { process.stdout.write(error.code); }`);
    expect(stdout).toBe("EISDIR");
  });
});
