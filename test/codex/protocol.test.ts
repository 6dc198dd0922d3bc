/** `symphony protocol check` against the real binary: no drift, and every sort of change in its schema is named. */
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { describeDrift, findDrift } from "../../src/agent/codex/drift.ts";
import { MANIFEST } from "../../src/agent/codex/manifest.ts";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { installCodex } from "./codex-binary.ts";

const BIN = fileURLToPath(new URL("../../src/cli/bin.ts", import.meta.url));
const run = promisify(execFile);

test("0.171.0 has every method, field and value that we send or read: no drift", async () => {
  await using dir = await makeTempDir();
  const args = [BIN, "protocol", "check", "--codex", await installCodex()];
  const { stdout, stderr } = await run(process.execPath, args, { cwd: dir.path });
  expect({ stdout, stderr }).toEqual({
    stdout: "codex 0.171.0: no drift from the protocol of 0.171.0\n",
    stderr: "",
  });
});

test("a changed schema is told change by change", async () => {
  await using dir = await makeTempDir();
  const home = join(dir.path, "home");
  await mkdir(home);
  const args = ["app-server", "generate-json-schema", "--experimental", "--out", dir.path];
  await run(await installCodex(), args, { env: { PATH: process.env["PATH"], HOME: home, CODEX_HOME: home } });
  const text = await readFile(join(dir.path, "codex_app_server_protocol.schemas.json"), "utf8");
  const changed = (from: string, to: string): readonly string[] => {
    expect(text).toContain(from);
    const bundle: unknown = JSON.parse(text.replaceAll(from, to));
    if (!isRecord(bundle)) throw new Error("the bundle is no object");
    return findDrift(bundle, MANIFEST).map(describeDrift);
  };
  expect(changed(`"turn/interrupt"`, `"turn/cut"`)).toEqual([
    "turn/interrupt: we send it, and there is no such method",
  ]);
  expect(changed(`"expectedTurnId"`, `"turn"`)).toEqual([
    "turn/steer params.expectedTurnId: there is no such field",
    "turn/steer params.turn: is required, and we don't send it",
  ]);
  expect(changed(`"usageLimitExceeded"`, `"spent"`)).toEqual([
    "turn/completed params.turn.error.codexErrorInfo: can't be usageLimitExceeded",
    "turn/completed params.turn.error.codexErrorInfo: may also be spent",
  ]);
  expect(changed(`"attestation/generate"`, `"item/shell/requestApproval"`)).toEqual([
    "item/shell/requestApproval: a request that we don't know; it is refused",
  ]);
});
