/** Where compiled code is kept, and where it isn't: real folders. */
import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTempDir } from "../../test/support/temp-dir.ts";
import { compileCacheFolder } from "./compile-cache.ts";

let home: string;

beforeEach(async () => {
  const dir = await makeTempDir();
  home = dir.path;
  return dir.dispose;
});

test("is below the home's state directory, and only its owner can look into it", () => {
  const folder = join(home, ".local", "state", "symphony", "compiled");
  expect(compileCacheFolder({}, home)).toBe(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(compileCacheFolder({}, home)).toBe(folder);
});

test("is in the state directory that the environment names, unless that is relative", () => {
  const states = join(home, "states");
  mkdirSync(states, { mode: 0o700 });
  expect(compileCacheFolder({ XDG_STATE_HOME: states }, "/nowhere")).toBe(join(states, "symphony", "compiled"));
  expect(compileCacheFolder({ XDG_STATE_HOME: "states" }, home)).toBe(
    join(home, ".local", "state", "symphony", "compiled"),
  );
});

test.each([".local", ".local/state", ".local/state/symphony/compiled"])(
  "isn't used when others can write %s",
  (name) => {
    mkdirSync(join(home, ".local/state/symphony/compiled"), { recursive: true, mode: 0o700 });
    chmodSync(join(home, name), 0o777);
    expect(compileCacheFolder({}, home)).toBeNull();
  },
);

test("nothing is made where others can write, or can put another folder in its place", () => {
  chmodSync(home, 0o777);
  expect(compileCacheFolder({}, home)).toBeNull();
  expect(compileCacheFolder({ XDG_STATE_HOME: home }, "/nowhere")).toBeNull();
  expect(existsSync(join(home, ".local"))).toBe(false);
  chmodSync(home, 0o755);
  const shared = join(home, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  symlinkSync(shared, join(home, ".local"));
  expect(compileCacheFolder({}, home)).toBeNull();
  expect(existsSync(join(shared, "state"))).toBe(false);
});

test("without a home that can be written there is none", () => {
  expect(compileCacheFolder({}, join(home, "gone"))).toBeNull();
  writeFileSync(join(home, ".local"), "");
  expect(compileCacheFolder({}, home)).toBeNull();
});
