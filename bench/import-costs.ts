/** What loading a library costs by itself, in a Node with nothing else: CPU time and memory. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { tableLines } from "../src/cli/table.ts";
import { median, rounded } from "./figures.ts";

const REPEATS = 3;
const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** Those of package.json that the daemon's process loads, and the one module of Node that is dear. */
const MODULES = [
  "better-sqlite3",
  "commander",
  "execa",
  "hono",
  "@hono/node-server",
  "liquidjs",
  "pino",
  "prom-client",
  "yaml",
  "zod",
  "@linear/sdk",
  "graphql/language",
  "node:http",
];

interface Cost {
  readonly cpuMs: number;
  readonly rssMb: number;
}

const PROGRAM = `
const rss = process.memoryUsage.rss(), cpu = process.cpuUsage();
await import(process.argv[1]);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ cpuMs: (user + system) / 1000, rssMb: (process.memoryUsage.rss() - rss) / 1048576 }));
`;

function costOf(module: string): Cost {
  const args = ["--input-type=module", "--eval", PROGRAM, module];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" })) as Cost;
}

/** A table for people. What two of them share counts in both, and the package's bundle loads less than what is installed. */
export function importCosts(): string {
  const cells = MODULES.map((module) => {
    const costs = Array.from({ length: REPEATS }, () => costOf(module));
    const of = (figure: (cost: Cost) => number): number => rounded(median(costs.map(figure)), 1);
    return [module, `${of((cost) => cost.cpuMs)}`, `${of((cost) => cost.rssMb)}`];
  });
  const columns = [
    { title: "import", align: "left" },
    { title: "cpu ms", align: "right" },
    { title: "rss mb", align: "right" },
  ] as const;
  return tableLines(columns, cells).join("\n");
}
