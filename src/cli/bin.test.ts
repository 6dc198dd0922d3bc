/** What a wrong Node or a closed pipe looks like from outside: real processes. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { makeTempDir } from "../../test/support/temp-dir.ts";

const BIN = resolve(import.meta.dirname, "bin.ts");
const CHECK = resolve(import.meta.dirname, "../../scripts/node-check.mjs");
const MANIFEST = resolve(import.meta.dirname, "../../package.json");

/** Makes this Node say that it is another version, before the program starts. */
function pretend(version: string): string {
  const code = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      done({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

describe.each([
  ["the command", BIN],
  ["the check before an npm script", CHECK],
])("%s", (_name, program) => {
  test.each(["18.20.8", "20.20.2", "22.18.0", "23.11.1"])(
    "refuses Node %s with one line and exit code 1",
    async (old) => {
      const { code, stdout, stderr } = await run(pretend(old), program, "--version");
      expect(stderr).toMatch(/^symphony: needs Node\.js 24 or newer, and this is .*\n$/);
      expect(stderr).toContain(old);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    },
  );

  test.each(["24.0.0", "25.1.0", "100.0.0"])("runs on Node %s", async (recent) => {
    expect(await run(pretend(recent), program, "--version")).toMatchObject({ code: 0, stderr: "" });
  });
});

test("the oldest Node that runs is the one that package.json asks for", () => {
  expect(readFileSync(MANIFEST, "utf8")).toContain('"node": ">=24"');
});

test("a reader that goes away is no crash", async () => {
  const child = spawn(process.execPath, [BIN, "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect({ stderr, code, signal }).toEqual({ stderr: "", code: 0, signal: null });
});

test("what was compiled is kept for the next start", async () => {
  await using home = await makeTempDir();
  const {
    NODE_COMPILE_CACHE: _theirs,
    NODE_DISABLE_COMPILE_CACHE: _off,
    XDG_STATE_HOME: _states,
    ...env
  } = process.env;
  execFileSync(process.execPath, [BIN, "--version"], { env: { ...env, HOME: home.path } });
  expect(readdirSync(join(home.path, ".local/state/symphony/compiled"))).not.toEqual([]);
});
