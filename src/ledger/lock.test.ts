import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { lockDaemon, readLockOwner } from "./lock.ts";
import { stateFiles, type StateFiles } from "./state-files.ts";

const HOLDER = join(import.meta.dirname, "..", "..", "test", "fakes", "lock-holder.ts");

let dir: TempDir;
let workflow: string;
let children: ChildProcess[];
/** Given back at the end of the test. */
let locks: DisposableStack;

beforeEach(async () => {
  dir = await makeTempDir();
  workflow = join(dir.path, "WORKFLOW.md");
  writeFileSync(workflow, "Do it.");
  children = [];
  locks = new DisposableStack();
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  locks.dispose();
  await dir.dispose();
});

function files(name = "state"): StateFiles {
  return stateFiles(join(dir.path, name));
}

/** Another process that tries to take both locks; answers what it said, and the process. */
async function otherDaemon(state: StateFiles, path = workflow): Promise<{ said: string; child: ChildProcess }> {
  const child = spawn(process.execPath, ["--expose-gc", HOLDER, state.dir, path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return { said: said.toString().trim(), child };
}

async function killHard(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

describe("the lock of a state directory", () => {
  test("lets one daemon in, and names it to the second", async () => {
    const { said, child } = await otherDaemon(files());
    expect(said).toBe("locked");
    expect(() => lockDaemon(files(), workflow)).toThrow(
      expect.objectContaining({
        code: "already_running",
        message: expect.stringMatching(new RegExp(`pid ${child.pid}, running since 20\\d\\d-.*${files().dir}`)),
        data: expect.objectContaining({ pid: child.pid }),
      }),
    );
  });

  test("is free again the moment its owner is killed", async () => {
    const { child } = await otherDaemon(files());
    await killHard(child);
    locks.use(lockDaemon(files(), workflow));
    expect(readLockOwner(files().lock)?.pid).toBe(process.pid);
    expect((await otherDaemon(files())).said).toBe("already_running");
  });

  test("is free again when it is given back", async () => {
    lockDaemon(files(), workflow)[Symbol.dispose]();
    expect((await otherDaemon(files())).said).toBe("locked");
  });

  test("holds within one process too, and survives the refusal", async () => {
    locks.use(lockDaemon(files(), workflow));
    const other = join(dir.path, "OTHER.md");
    writeFileSync(other, "x");
    symlinkSync(files().dir, join(dir.path, "link"));
    expect(() => lockDaemon(files(), other)).toThrow(
      expect.objectContaining({
        code: "already_running",
        message: expect.stringContaining("(state.dir, --state-dir)"),
      }),
    );
    expect(() => lockDaemon(files("link"), other)).toThrow(expect.objectContaining({ code: "already_running" }));
    expect((await otherDaemon(files(), other)).said).toBe("already_running");
  });

  test("makes the directory for its owner alone", () => {
    locks.use(lockDaemon(files("deep/er"), workflow));
    expect(statSync(files("deep/er").dir).mode & 0o777).toBe(0o700);
    expect(statSync(files("deep/er").lock).mode & 0o777).toBe(0o600);
  });

  test("says what is in its way", () => {
    mkdirSync(files().lock, { recursive: true });
    expect(() => lockDaemon(files(), workflow)).toThrow(
      expect.objectContaining({ code: "state_dir_unusable", message: expect.stringContaining(files().lock) }),
    );
    writeFileSync(join(dir.path, "file"), "");
    expect(() => lockDaemon(files("file"), workflow)).toThrow(expect.objectContaining({ code: "state_dir_unusable" }));
  });

  test("that isn't a database is named, and left alone", () => {
    mkdirSync(files().dir);
    writeFileSync(files().lock, "something of somebody else's, longer than a header is ".repeat(10));
    expect(() => lockDaemon(files(), workflow)).toThrow(
      expect.objectContaining({ code: "state_dir_unusable", message: expect.stringMatching(/remove that file/) }),
    );
  });
});

describe("the lock of a workflow", () => {
  test("holds whatever the state directory", async () => {
    await otherDaemon(files("one"));
    expect(() => lockDaemon(files("two"), workflow)).toThrow(
      expect.objectContaining({ code: "already_running", message: expect.stringContaining(workflow) }),
    );
    expect((await otherDaemon(files("two"))).said).toBe("already_running");
  });

  test("that was refused gives the state directory back", async () => {
    await otherDaemon(files("one"));
    expect(() => lockDaemon(files("two"), workflow)).toThrow(/already works on the workflow/);
    const other = join(dir.path, "OTHER.md");
    writeFileSync(other, "x");
    expect((await otherDaemon(files("two"), other)).said).toBe("locked");
  });

  test("is the same through a link", async () => {
    await otherDaemon(files("one"));
    const link = join(dir.path, "link.md");
    symlinkSync(workflow, link);
    expect(() => lockDaemon(files("two"), link)).toThrow(expect.objectContaining({ code: "already_running" }));
  });

  test("leaves nothing beside the workflow when it is given back, and takes over what a killed owner left", async () => {
    const { child } = await otherDaemon(files());
    await killHard(child);
    expect(existsSync(join(dir.path, ".WORKFLOW.md.lock"))).toBe(true);
    lockDaemon(files(), workflow)[Symbol.dispose]();
    expect(readdirSync(dir.path).toSorted()).toEqual(["WORKFLOW.md", "state"]);
  });

  test("is never held by two, however often it changes hands", async () => {
    for (let round = 0; round < 2; round += 1) {
      const lock = lockDaemon(files(`mine-${round}`), workflow);
      const racing = [otherDaemon(files(`a-${round}`)), otherDaemon(files(`b-${round}`))];
      lock[Symbol.dispose]();
      const others = await Promise.all(racing);
      expect(others.filter(({ said }) => said === "locked").length).toBeLessThanOrEqual(1);
      for (const { child } of others) if (child.exitCode === null) await killHard(child);
    }
  });

  test("doesn't stand in the way where nothing can be written", () => {
    const readonly = join(dir.path, "readonly");
    mkdirSync(readonly);
    const path = join(readonly, "WORKFLOW.md");
    writeFileSync(path, "x");
    // A directory in its place fails for every user, as a read-only mount does.
    mkdirSync(join(readonly, ".WORKFLOW.md.lock"));
    chmodSync(readonly, 0o500);
    locks.use(lockDaemon(files(), path));
    expect(readLockOwner(files().lock)?.pid).toBe(process.pid);
    chmodSync(readonly, 0o700);
  });
});
