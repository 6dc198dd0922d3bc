/** Where the control socket really is: a path that is too long for a Unix socket falls back to the runtime directory. */
import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { AppError } from "../domain/errors.ts";

/** sockaddr_un holds 108 bytes with its end on Linux, 104 on macOS. */
const MAX_BYTES = 103;

/** The socket for a state directory's `control.sock`; daemon and command line must get the same answer. */
export function reachableSocketPath(path: string, env: Readonly<Record<string, string | undefined>>): string {
  if (Buffer.byteLength(path) <= MAX_BYTES) return path;
  const runtime = env["XDG_RUNTIME_DIR"];
  const folder = runtime === undefined || runtime === "" ? join(tmpdir(), `symphony-${userInfo().uid}`) : runtime;
  return join(folder, `symphony-${createHash("sha256").update(path).digest("hex").slice(0, 16)}.sock`);
}

/**
 * Makes the socket's folder (0700) if need be. Throws AppError state_dir_unusable when it is one below the shared temporary folder
 * that somebody else made: they could replace the socket.
 */
export async function makeSocketFolder(socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid } = await stat(folder);
  if (uid === userInfo().uid || dirname(folder) !== tmpdir()) return;
  throw new AppError(
    "state_dir_unusable",
    `${folder}, the folder of the control socket, belongs to another user; set XDG_RUNTIME_DIR to one of your own`,
    { folder },
  );
}
