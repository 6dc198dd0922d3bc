/** A real pipe for a script's output. */
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";

/** Both ends. The writing one goes to a child as its stdout and stderr, and is closed here once the child has it. */
export interface OutputPipe {
  readonly reader: Socket;
  readonly writeFd: number;
  closeWriter(): void;
}

/**
 * Node's own child pipes are sockets: two of them lose the order between stdout and stderr, and a script can't open /dev/stderr or
 * /dev/stdout on a socket. A FIFO whose name is gone at once is the pipe that a terminal or cron would give. Rejects when there
 * is no mkfifo or no temporary directory.
 */
export async function openOutputPipe(): Promise<OutputPipe> {
  const directory = await mkdtemp(join(tmpdir(), "symphony-pipe-"));
  try {
    const path = join(directory, "output");
    await execa("mkfifo", ["-m", "600", path], { stdin: "ignore" });
    // Without O_NONBLOCK this would wait for the writer, which is opened next and itself stays blocking.
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writeFd = openSync(path, constants.O_WRONLY);
    const reader = new Socket({ fd: readFd, readable: true, writable: false });
    return { reader, writeFd, closeWriter: () => closeSync(writeFd) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
