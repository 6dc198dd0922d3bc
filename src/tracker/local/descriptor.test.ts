import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { localDescriptor } from "./descriptor.ts";

describe("the local board's settings", () => {
  let dir: TempDir;
  beforeEach(async () => {
    dir = await makeTempDir();
    await mkdir(join(dir.path, "board"));
    await writeFile(join(dir.path, "file"), "");
    await symlink("loop", join(dir.path, "loop"));
  });
  afterEach(() => dir.dispose());

  const parse = (raw: Record<string, unknown>): Readonly<Record<string, unknown>> => {
    const env: Record<string, string | undefined> = { HOME: dir.path, BOARD: "board", ROOT: dir.path };
    const resolve = (value: unknown): unknown =>
      typeof value === "string" && /^\$\w+$/.test(value) ? env[value.slice(1)] : value;
    return localDescriptor.parseProvider({ raw, resolve, env, baseDir: dir.path }).provider;
  };

  it.each(["board", "./board/", "~/board", "$BOARD", "$ROOT/board", "${ROOT}/board"])(
    "finds the folder that %s means, from the workflow file's folder",
    (path) => {
      expect(parse({ path })).toEqual({ path: join(dir.path, "board"), states: [] });
    },
  );

  it("takes further states, trimmed", () => {
    expect(parse({ path: "board", states: [" Backlog ", "Human Review"] })["states"]).toEqual([
      "Backlog",
      "Human Review",
    ]);
  });

  it.each([
    [{}, /tracker\.provider\.path: is missing; give the folder/],
    [{ path: "$UNSET" }, /tracker\.provider\.path: "\$UNSET" is missing/],
    [{ path: "$UNSET/board" }, /uses \$UNSET, which is not set/],
    [{ path: 7 }, /tracker\.provider\.path: 7 is no text/],
    [{ path: "gone" }, /tracker\.provider\.path: ".*\/gone" does not exist; make the folder/],
    [{ path: "file" }, /tracker\.provider\.path: ".*\/file" is not a folder/],
    [{ path: "loop" }, /tracker\.provider\.path: ".*\/loop" can't be looked at \(ELOOP/],
    [{ path: "board", states: "Backlog" }, /tracker\.provider\.states: "Backlog" is not a list of state names/],
    [{ path: "board", states: [""] }, /tracker\.provider\.states: \[""\] is not a list/],
  ])("names key, value and mend for %j", (raw, message) => {
    expect(() => parse(raw)).toThrow(
      expect.objectContaining({ code: "invalid_tracker_config", message: expect.stringMatching(message) }),
    );
  });
});
