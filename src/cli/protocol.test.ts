import { chmod, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { checkProtocol } from "./protocol.ts";

let dir: TempDir;
let printed: string;

beforeEach(async () => {
  dir = await makeTempDir();
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => dir.dispose());

/** A program that writes this bundle where it is told to. */
async function fakeCodex(bundle: string, version = "codex-cli 9.9.9"): Promise<string> {
  const path = join(dir.path, "codex");
  const source = join(dir.path, "bundle.json");
  await writeFile(source, bundle);
  const write = `cp "${source}" "$5/codex_app_server_protocol.schemas.json"`;
  await writeFile(path, `#!/bin/bash\nif [ "$1" = --version ]; then echo "${version}"; else ${write}; fi\n`);
  await chmod(path, 0o755);
  return path;
}

describe("protocol check", () => {
  it("names the version and everything that moved, and answers 1", async () => {
    const codex = await fakeCodex(`{"definitions":{}}`);
    expect(await checkProtocol({ codex, json: false })).toBe(1);
    expect(printed).toMatch(/^codex 9\.9\.9: \d+ differences from the protocol of 0\.171\.0\n/);
    expect(printed).toContain("\n  turn/start: we send it, and there is no such method\n");
  });

  it("prints one JSON value when asked to", async () => {
    const codex = await fakeCodex(`{"definitions":{}}`);
    await checkProtocol({ codex, json: true });
    expect(JSON.parse(printed)).toMatchObject({
      codex,
      version: "9.9.9",
      tested_version: "0.171.0",
      drift: expect.arrayContaining([
        {
          kind: "method_gone",
          where: "turn/start",
          text: "turn/start: we send it, and there is no such method",
        },
      ]),
    });
  });

  it("leaves nothing behind", async () => {
    const before = await readdir(tmpdir());
    await checkProtocol({ codex: await fakeCodex("{}"), json: false });
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith("symphony-protocol-"));
    expect(left.filter((name) => !before.includes(name))).toEqual([]);
  });

  it("says how to name a program that isn't there", async () => {
    const refused = checkProtocol({ codex: join(dir.path, "nowhere"), json: false });
    await expect(refused).rejects.toMatchObject({
      code: "codex_not_found",
      message: expect.stringContaining("--codex"),
    });
  });

  it("says so when the program is none that can tell", async () => {
    const codex = await fakeCodex("no JSON");
    await expect(checkProtocol({ codex, json: false })).rejects.toMatchObject({ code: "response_error" });
    await expect(checkProtocol({ codex: "/bin/false", json: false })).rejects.toMatchObject({ code: "response_error" });
  });
});
