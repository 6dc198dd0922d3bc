/** Run before every npm script: from source, an old Node fails on the first type with a page of stack trace. Keep to plain syntax. */
import { readFileSync } from "node:fs";

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const minimum = Number.parseInt(manifest.engines.node.replace(">=", ""), 10);

if (Number.parseInt(process.versions.node, 10) < minimum) {
  process.stderr.write(
    `symphony: needs Node.js ${minimum} or newer, and this is ${process.versions.node} (${process.execPath}); ` +
      "`npm ci` installs one for this project (if npm is set to ignore scripts: `npm rebuild node --ignore-scripts=false`)\n",
  );
  process.exitCode = 1;
}
