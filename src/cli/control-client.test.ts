/** Asking a daemon that has taken the connection and says nothing, as one that is suspended. */
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { until } from "../../test/support/until.ts";
import { askDaemon } from "./control-client.ts";
import { lockDaemon } from "../ledger/lock.ts";
import { stateFiles } from "../ledger/state-files.ts";

let dir: TempDir;
let server: Server;
let connections: Socket[] = [];
let stderr = "";

beforeEach(async () => {
  dir = await makeTempDir();
  await mkdir(join(dir.path, "state"));
  connections = [];
  server = createServer((socket) => connections.push(socket));
  const listening = Promise.withResolvers<void>();
  server.listen(join(dir.path, "state", "control.sock"), listening.resolve);
  await listening.promise;
  stderr = "";
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    stderr += String(chunk);
    return true;
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  const closed = Promise.withResolvers<void>();
  for (const socket of connections) socket.destroy();
  server.close(() => closed.resolve());
  await closed.promise;
  await dir.dispose();
});

it("says soon whom it waits for, and ends with what may be wrong", async () => {
  const clock = new ManualClock();
  const stateDir = join(dir.path, "state");
  const workflow = join(dir.path, "WORKFLOW.md");
  await writeFile(workflow, "");
  using _ = lockDaemon(stateFiles(stateDir), workflow);
  const asked = askDaemon({ workflow, stateDir }, { method: "POST", path: "/api/v1/pause" }, clock);
  const refused = asked.catch((error: unknown) => error);
  await until("the connection is taken", () => connections.length === 1);
  await clock.advance(1_499);
  expect(stderr).toBe("");
  await clock.advance(1);
  await until("it says so", () => stderr !== "");
  expect(stderr).toBe(`symphony: waiting for the daemon with pid ${process.pid}, which doesn't answer\n`);
  await clock.advance(8_500);
  expect(await refused).toMatchObject({
    code: "daemon_unreachable",
    message: expect.stringMatching(
      new RegExp(
        `^the daemon with pid ${process.pid} has not answered within 10 s .*kill -CONT.*may still do what was`,
      ),
    ),
  });
  expect(clock.armedCount()).toBe(0);
});
