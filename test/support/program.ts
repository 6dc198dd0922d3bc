/** The program `symphony` inside the test's own process: what bin.ts does after its look at the Node version, without a process each. */
import { vi } from "vitest";
import { main } from "../../src/cli/main.ts";

/** How a command ended, and what it said. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whose program it is; its relative paths start at `dir`. */
export interface ProgramUser {
  readonly dir: string;
  readonly home: string;
  readonly tmp: string;
}

/**
 * Runs one command line to its end. One at a time: it takes over the process's directory, environment and output meanwhile. `hear` is
 * called with all of stdout whenever there is more.
 */
export async function runProgram(
  user: ProgramUser,
  args: readonly string[],
  hear: (stdout: string) => void = () => undefined,
): Promise<Said> {
  const outer = { dir: process.cwd(), env: process.env };
  const heard = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      heard[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
      hear(heard.stdout);
      return true;
    }),
  );
  process.chdir(user.dir);
  process.env = { PATH: outer.env["PATH"], HOME: user.home, TMPDIR: user.tmp };
  try {
    const code = await main(args);
    return { code, ...heard };
  } finally {
    process.chdir(outer.dir);
    process.env = outer.env;
    for (const spy of spies) spy.mockRestore();
  }
}
