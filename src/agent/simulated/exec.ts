/** `command/exec`: one command without a thread, what clients probe a sandbox with. The simulated agent has no sandbox. */
import { spawn } from "node:child_process";
import { type Params, RpcError } from "./params.ts";

/** Default deadline of a command, ms. */
const DEFAULT_TIMEOUT_MS = 10_000;

/** Runs the command to its end. */
export async function runExec(params: Params): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const { command, cwd, timeoutMs } = params;
  if (!Array.isArray(command)) throw new RpcError("Invalid request: missing field `command`");
  const [file, ...args] = command.map(String);
  if (file === undefined) throw new RpcError("command must not be empty");
  const child = spawn(file, args, {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: typeof timeoutMs === "number" ? timeoutMs : DEFAULT_TIMEOUT_MS,
    ...(typeof cwd === "string" ? { cwd } : {}),
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.on("error", (error) => reject(new RpcError(`failed to spawn command: ${error.message}`, -32603)));
  child.on("close", (code) => resolve(code ?? 124));
  return { exitCode: await promise, stdout, stderr };
}
