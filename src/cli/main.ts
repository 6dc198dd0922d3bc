/** The command line: what `symphony` and its commands take. */
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { z } from "zod";

const MANIFEST = z.object({ version: z.string() });

/** The package's own version; package.json lies two levels up from the source and from the build. */
function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return MANIFEST.parse(JSON.parse(text)).version;
}

/** Runs one command line, without node and script; answers the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const program = new Command("symphony").version(packageVersion()).exitOverride();
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
}
