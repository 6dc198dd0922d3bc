/** `symphony protocol check`: whether an installed codex still speaks the protocol as we use it. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describeDrift, findDrift } from "../agent/codex/drift.ts";
import { MANIFEST } from "../agent/codex/manifest.ts";
import { AppError, errorMessage } from "../domain/errors.ts";
import { printJson, printLines } from "./output.ts";
import { plainLine } from "./terminal-text.ts";

export interface ProtocolOptions {
  /** A path, or a name that is looked up in PATH. */
  readonly codex: string;
  readonly json: boolean;
}

const BUNDLE = "codex_app_server_protocol.schemas.json";
/** Writing the schema takes half a second (measured); a program that isn't codex may wait for input for ever. */
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Prints what moved; answers the exit code: 0 = no drift, 1 = something moved. Rejects with AppError codex_not_found, or
 * response_error when the program can't write its schema.
 */
export async function checkProtocol({ codex, json }: ProtocolOptions): Promise<number> {
  const { version, bundle } = await readSchema(codex);
  const drift = findDrift(bundle, MANIFEST);
  const lines = drift.map(describeDrift);
  if (json) {
    printJson({
      codex,
      version,
      tested_version: MANIFEST.version,
      drift: drift.map(({ kind, where }, index) => ({ kind, where, text: lines[index] ?? "" })),
    });
  } else if (drift.length === 0) {
    printLines([`codex ${version}: no drift from the protocol of ${MANIFEST.version}`]);
  } else {
    printLines([
      `codex ${version}: ${drift.length} differences from the protocol of ${MANIFEST.version}`,
      ...lines.map((line) => `  ${plainLine(line)}`),
    ]);
  }
  return drift.length === 0 ? 0 : 1;
}

/** Asks the program in a home of its own: what it generates depends on nothing else, and nobody's home is written to. */
async function readSchema(codex: string): Promise<{ readonly version: string; readonly bundle: unknown }> {
  const dir = await mkdtemp(join(tmpdir(), "symphony-protocol-"));
  try {
    const { PATH = "", HOME = dir } = process.env;
    const options = { env: { PATH, HOME, CODEX_HOME: dir }, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
    const run = promisify(execFile);
    const { stdout } = await run(codex, ["--version"], options);
    await run(codex, ["app-server", "generate-json-schema", "--experimental", "--out", dir], options);
    const bundle: unknown = JSON.parse(await readFile(join(dir, BUNDLE), "utf8"));
    return { version: plainLine(/\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? stdout.trim()), bundle };
  } catch (error) {
    throw schemaError(codex, error);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function schemaError(codex: string, error: unknown): AppError {
  const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT" && "path" in error;
  if (isAbsent && error.path === codex) {
    const message = `there is no program "${codex}"; install codex, or name it with --codex PATH`;
    return new AppError("codex_not_found", message, { codex }, { cause: error });
  }
  const [reason = ""] = errorMessage(error).split("\n");
  const message = `"${codex}" can't write the schema of its protocol (codex 0.100 or newer can): ${reason}`;
  return new AppError("response_error", message, { codex }, { cause: error });
}
