/**
 * Stands between a client and the real app-server, and does once what the real one can't be made to do at will:
 * `node proxy.ts refuse:<method> <program> ...` answers the first such request by -32001, as an overloaded server does;
 * `node proxy.ts lose:<method> <program> ...` keeps the first such notification for itself.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { isRecord } from "../../src/agent/simulated/wire.ts";

const [what = "", program = "", ...args] = process.argv.slice(2);
const [deed, method] = what.split(":");
const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
let done = false;

/** Whether this is the one message that the proxy is here for. */
function isTheOne(line: string, wanted: string): boolean {
  if (done || deed !== wanted) return false;
  const message: unknown = JSON.parse(line);
  done = isRecord(message) && message["method"] === method;
  return done;
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (!isTheOne(line, "refuse")) {
      server.stdin.write(`${line}\n`);
      return;
    }
    const { id } = JSON.parse(line) as { readonly id: unknown };
    const error = { code: -32_001, message: "Server overloaded; retry later." };
    process.stdout.write(`${JSON.stringify({ id, error })}\n`);
  })
  .on("close", () => server.stdin.end());
createInterface({ input: server.stdout }).on("line", (line) => {
  if (!isTheOne(line, "lose")) process.stdout.write(`${line}\n`);
});
server.on("exit", (code) => {
  process.exitCode = code ?? 1;
  // Nothing is left to read for.
  process.stdin.destroy();
});
