#!/usr/bin/env node
/** The command `symphony`: makes sure that this Node can run the rest before anything of the rest is loaded. */

/** As `engines` in package.json; older ones crash in the SQLite addon instead of saying why. */
const MINIMUM_NODE = 24;

/** Reached on any Node that knows modules, so it keeps to plain syntax and imports nothing up front. */
async function run(): Promise<void> {
  if (Number.parseInt(process.versions.node, 10) < MINIMUM_NODE) {
    process.stderr.write(
      `symphony: needs Node.js ${MINIMUM_NODE} or newer, and this is ${process.versions.node} (${process.execPath}); ` +
        `install a newer one, or try: npx -p node@${MINIMUM_NODE} -p symphony-worker symphony\n`,
    );
    process.exitCode = 1;
    return;
  }
  // A reader that goes away (`symphony runs | head -1`) ends what it reads, not the process.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  // V8's young generation grows to 64 MB for what lives a moment, and a process at work keeps it; unless it grows, it works as quickly in
  // 2 MB. The factor is read at each growth, so it holds from here on; it comes first because compiled code is kept for the
  // flags that it was compiled with.
  const { setFlagsFromString } = await import("node:v8");
  setFlagsFromString("--semi-space-growth-factor=1");
  (await import("./compile-cache.ts")).keepCompiled();
  const { main } = await import("./main.ts");
  process.exitCode = await main(process.argv.slice(2));
}

await run();
