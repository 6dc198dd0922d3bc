import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { captureLog } from "../../test/support/captured-log.ts";
import { isRunning, pidFrom } from "../../test/support/processes.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { createLocalHost } from "./local.ts";
import { loginShell } from "./login-shell.ts";
import type { AgentProcess, Host, ProcessIdentity } from "./port.ts";

let dir: TempDir;
let host: Host;
let started: AgentProcess[];

/** The variables that bash itself puts into every child's environment. */
const FROM_BASH = ["PWD", "SHLVL", "_"];

beforeEach(async () => {
  dir = await makeTempDir();
  await mkdir(join(dir.path, "ws"));
  host = createLocalHost({ log: captureLog().log });
  started = [];
});

afterEach(async () => {
  await Promise.all(started.map((child) => child.stop()));
  await dir.dispose();
});

async function spawn(command: string, env: Readonly<Record<string, string>> = {}): Promise<AgentProcess> {
  const child = await host.spawn({
    command,
    cwd: join(dir.path, "ws"),
    env: { HOME: dir.path, PATH: "/usr/bin:/bin", ...env },
    marker: `test-${process.pid}`,
  });
  started.push(child);
  return child;
}

/** A command that begins only once it is on record. */
async function spawnHeld(command: string, record: (identity: ProcessIdentity) => void): Promise<AgentProcess> {
  const env = { HOME: dir.path, PATH: "/usr/bin:/bin" };
  const child = await host.spawn({ command, cwd: dir.path, env, marker: `test-${process.pid}`, record });
  started.push(child);
  return child;
}

async function profile(script: string): Promise<void> {
  await writeFile(join(dir.path, ".bash_profile"), script);
}

/** The environment that the command's own children see. */
async function childEnvironment(env: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
  const child = await spawn("env -0", env);
  const pairs = (await text(child.stdout)).split("\0").filter(Boolean);
  const entries = pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)] as const);
  return Object.fromEntries(entries.filter(([name]) => !FROM_BASH.includes(name)));
}

describe("a command that is to be recorded first", () => {
  test("begins after that, with all of its input", async () => {
    const recorded: ProcessIdentity[] = [];
    const child = await spawnHeld(`cat began 2>&1; cat; env | grep ^SYMPHONY_ | cut -d= -f1`, (identity) => {
      recorded.push(identity);
      writeFileSync(join(dir.path, "began"), "on record, ");
    });
    child.stdin.end("said\n");
    expect(await text(child.stdout)).toBe("on record, said\nSYMPHONY_RUN_MARKER\n");
    expect(recorded).toEqual([child.identity]);
  });

  test("never begins when whoever records it is gone", () => {
    const env = { HOME: dir.path, PATH: "/usr/bin:/bin" };
    const { file, args, env: shellEnv } = loginShell({ command: "echo began", env, marker: "m", held: true });
    const { status, stdout } = spawnSync(file, args, { env: shellEnv, input: "", encoding: "utf8" });
    expect([status, stdout]).toEqual([125, ""]);
  });

  test("waits for others that are started with it, so that they don't take each other's time to start", async () => {
    const recorded: number[] = [];
    const alive = await Promise.all(
      [1, 2, 3].map(async (n) => {
        await spawnHeld("cat", () => recorded.push(n));
        return recorded.length;
      }),
    );
    expect(alive).toEqual([3, 3, 3]);
  });
});

describe("the command", () => {
  test("is read by a shell, unmodified, in the given directory", async () => {
    const child = await spawn(`printf '%s|' "$PWD" "a  b" '$HOME' "\`echo c\`"; echo "$FOO"`, { FOO: 'it\'s\n"x" $y' });
    expect(await text(child.stdout)).toBe(`${join(dir.path, "ws")}|a  b|$HOME|c|it's\n"x" $y\n`);
  });

  test.each(["sleep 60", "sleep 60\n", "exec sleep 60", "A=1 B=two sleep 60"])(
    "replaces the shell when it is a plain one: %j",
    async (command) => {
      const child = await spawn(command);
      await expect
        .poll(() => readFile(`/proc/${child.identity.pid}/comm`, "utf8"), { timeout: 15_000 })
        .toBe("sleep\n");
    },
  );

  test("may use what a shell offers: assignments, functions of the profile, pipes", async () => {
    await profile("greet() { echo hello $1; }\n");
    const child = await spawn("NAME=world\ngreet $NAME | tr a-z A-Z");
    expect(await text(child.stdout)).toBe("HELLO WORLD\n");
  });

  test("has what it assigns in front of a plain command, and nothing of it where it names no command", async () => {
    const child = await spawn("A=1 B=two env");
    expect((await text(child.stdout)).split("\n")).toEqual(expect.arrayContaining(["A=1", "B=two"]));
    expect(await (await spawn("A=1")).exited).toEqual({ code: 0, signal: null });
  });

  test("that bash can't find exits with 127 and names it on stderr", async () => {
    const child = await spawn("no-such-program --flag");
    expect(await child.exited).toEqual({ code: 127, signal: null });
    await child.stop();
    expect(child.stderrTail()).toContain("no-such-program: command not found");
  });

  test("sees no positional parameters and no variables of the wrapper in its environment", async () => {
    const child = await spawn('echo "$#:$*"; env | grep -c ^SYMPHONY_');
    expect(await text(child.stdout)).toBe("0:\n1\n");
  });
});

describe("the login profile", () => {
  test("reaches neither the protocol's stdin nor its stdout", async () => {
    await profile('printf "no newline"; read -r stolen; echo "stole: $stolen"; printf noise >&2\n');
    const child = await spawn("cat");
    child.stdin.end("{}\n");
    expect(await text(child.stdout)).toBe("{}\n");
    await child.stop();
    expect(child.stderrTail()).toBe("no newlinestole: \nnoise");
  });

  test("can't keep the protocol open by a process that it leaves behind", async () => {
    await profile(`setsid sleep 60 & echo $! > ${dir.path}/pid\n`);
    const child = await spawn("cat");
    child.stdin.end("bye\n");
    expect(await text(child.stdout)).toBe("bye\n");
    expect(await isRunning(await pidFrom(join(dir.path, "pid")))).toBe(true);
  });

  test("adds to PATH and names its tool chains; its other exports stay out, a secret and a function too", async () => {
    await profile(
      [
        "export LINEAR_API_KEY=lin_secret NVM_DIR=/opt/nvm LANG=xx",
        "readonly LOCKED=1; export LOCKED",
        "leak() { :; }; export -f leak",
        "PATH=/opt/first:$PATH:/opt/last",
      ].join("\n"),
    );
    const env = await childEnvironment({ LANG: "C.UTF-8", PATH: "/usr/bin:/bin:/given/bin" });
    const { PATH: path = "", ...rest } = env;
    expect(rest).toEqual({
      HOME: dir.path,
      LANG: "C.UTF-8",
      NVM_DIR: "/opt/nvm",
      SYMPHONY_RUN_MARKER: `test-${process.pid}`,
    });
    const entries = path.split(":");
    expect(entries[0]).toBe("/opt/first");
    expect(entries).toContain("/opt/last");
    expect(entries).toContain("/given/bin");
    expect(new Set(entries).size).toBe(entries.length);
  });

  test("doesn't override what was given", async () => {
    await profile("export CODEX_HOME=/from/profile NVM_DIR=/from/profile; unset LANG\n");
    const env = await childEnvironment({ CODEX_HOME: "/given", NVM_DIR: "/given/nvm", LANG: "C" });
    expect(env).toMatchObject({ CODEX_HOME: "/given", NVM_DIR: "/given/nvm", LANG: "C" });
  });

  test("takes no function away that was given", async () => {
    await profile("leak() { :; }; export -f leak\n");
    const env = await childEnvironment({ "BASH_FUNC_given%%": "() { echo here; }" });
    expect(Object.keys(env).filter((name) => name.startsWith("BASH_FUNC_"))).toEqual(["BASH_FUNC_given%%"]);
    const child = await spawn("bash -c given", { "BASH_FUNC_given%%": "() { echo here; }" });
    expect(await text(child.stdout)).toBe("here\n");
  });

  test("leaves the command its directory and a usual shell, whatever it changes", async () => {
    await profile("cd /; set -eu; IFS=x; exec 3>/dev/null >/dev/null\n");
    const child = await spawn('pwd; false; echo "${UNSET_VARIABLE}on"');
    expect(await text(child.stdout)).toBe(`${join(dir.path, "ws")}\non\n`);
  });

  test("is the first of .bash_profile, .bash_login and .profile, and BASH_ENV comes after it", async () => {
    await writeFile(join(dir.path, ".profile"), "echo profile\n");
    await writeFile(join(dir.path, ".bash_login"), "echo login\n");
    await writeFile(join(dir.path, "bash-env"), "echo bash-env\n");
    const child = await spawn("env | grep ^BASH_ENV", { BASH_ENV: join(dir.path, "bash-env") });
    expect(await text(child.stdout)).toBe(`BASH_ENV=${dir.path}/bash-env\n`);
    await child.stop();
    expect(child.stderrTail()).toBe("login\nbash-env\n");
  });
});

describe("a child process", () => {
  test("leads a process group of its own, with an identity that another look confirms", async () => {
    const child = await spawn("sleep 60");
    const stat = await readFile(`/proc/${child.identity.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    expect(child.identity.processGroup).toBe(child.identity.pid);
    expect(fields.slice(2, 4)).toEqual([String(child.identity.pid), String(child.identity.pid)]);
    expect(child.identity.startTime).toMatch(new RegExp(`^${fields[19]}@[0-9a-f-]{36}$`));
  });

  test("is told by its exit code or its signal", async () => {
    expect(await (await spawn("exit 3")).exited).toEqual({ code: 3, signal: null });
    expect(await (await spawn("kill -9 $$")).exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("never blocks on stderr, of which the end is kept", async () => {
    const child = await spawn("head -c 3000000 /dev/zero | tr '\\0' x >&2; printf 'the end' >&2; echo done");
    expect(await text(child.stdout)).toBe("done\n");
    await child.stop();
    expect(child.stderrTail().length).toBeLessThanOrEqual(16 * 1024);
    expect(child.stderrTail().endsWith("xxxthe end")).toBe(true);
  });

  test("that is gone breaks no write", async () => {
    const child = await spawn("exec 0<&-; true");
    await child.exited;
    child.stdin.write("into the void\n");
    await child.stop();
    expect(child.stdin.destroyed).toBe(true);
  });
});

describe("a start that can't be", () => {
  test("names a directory that isn't there", async () => {
    const request = { command: "true", cwd: join(dir.path, "gone"), env: { PATH: "/usr/bin:/bin" }, marker: "m" };
    await expect(host.spawn(request)).rejects.toMatchObject({
      code: "invalid_workspace_cwd",
      message: expect.stringContaining(join(dir.path, "gone")),
    });
  });

  test("names bash when there is none on the PATH", async () => {
    const request = { command: "true", cwd: dir.path, env: { PATH: dir.path }, marker: "m" };
    await expect(host.spawn(request)).rejects.toMatchObject({ code: "codex_not_found" });
  });

  test("is refused for an argument that no process can carry", async () => {
    const request = { command: "true\0", cwd: dir.path, env: { PATH: "/usr/bin:/bin" }, marker: "m" };
    await expect(host.spawn(request)).rejects.toMatchObject({ code: "codex_not_found" });
  });
});

test("what it starts runs below the daemon's own priority", async () => {
  const { identity } = await spawn("exec sleep 100");
  expect(getPriority(identity.pid)).toBeGreaterThan(getPriority());
});
