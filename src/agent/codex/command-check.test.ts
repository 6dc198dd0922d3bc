import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createLocalHost } from "../../host/local.ts";
import { captureLog } from "../../../test/support/captured-log.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { checkAgentCommand, programOf } from "./command-check.ts";

it.each([
  ["codex app-server", "codex"],
  ["  /opt/codex/bin/codex app-server", "/opt/codex/bin/codex"],
  ["'/opt/my tools/codex' app-server", "/opt/my tools/codex"],
  ["RUST_LOG=info A='b c' exec codex app-server", "codex"],
  ["codex; true", "codex"],
  ["$CODEX app-server", null],
  ["(cd /x && codex app-server)", null],
  ['"$HOME/bin/codex" app-server', null],
])("the program of %j is %j", (command, program) => {
  expect(programOf(command)).toBe(program);
});

it("starts no shell for a program that the daemon finds itself", async () => {
  const host = createLocalHost({ log: captureLog().log });
  const runScript = vi.spyOn(host, "runScript");
  for (const command of ["bash -c true", "/bin/bash -c true"]) {
    await checkAgentCommand(host, makeSettings({ codex: { command } }), process.env);
  }
  expect(runScript).not.toHaveBeenCalled();
});

it("names the command and the mend when bash finds no such program", async () => {
  const dir = mkdtempSync(join(tmpdir(), "symphony-check-"));
  try {
    const host = createLocalHost({ log: captureLog().log });
    const settingsFor = (command: string) => ({
      ...makeSettings({ codex: { command } }),
      workflowPath: join(dir, "WORKFLOW.md"),
    });
    await expect(checkAgentCommand(host, settingsFor("no-such-codex app-server"), process.env)).rejects.toMatchObject({
      code: "codex_not_found",
      message: expect.stringContaining('"no-such-codex"'),
    });
    await expect(checkAgentCommand(host, settingsFor("bash -c true"), process.env)).resolves.toBeUndefined();
  } finally {
    rmSync(dir, { recursive: true });
  }
});
