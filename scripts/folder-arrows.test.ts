/** The lint rules are tried on a scratch tree with the real configuration: a rule that doesn't fire protects nothing. */
import { execFile } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { makeTempDir, type TempDir } from "../test/support/temp-dir.ts";
import { FOLDERS } from "./folder-arrows.ts";

const ROOT = resolve(import.meta.dirname, "..");

const REPORT = z.object({
  diagnostics: z.array(z.object({ code: z.string(), filename: z.string(), message: z.string() })),
});

/** A file that breaks exactly one rule, or none. */
interface Sample {
  readonly file: string;
  readonly source: string;
  readonly rule: string | null;
}

const IMPORTS = "eslint(no-restricted-imports)";

/** The map of CONTRIBUTING.md, spelled out: what each folder may import. */
const MAY_IMPORT: Readonly<Record<(typeof FOLDERS)[number], string>> = {
  cli: "daemon.ts http orchestrator scheduler agent workspace host tracker ledger workflow domain lib",
  "daemon.ts": "http orchestrator scheduler agent workspace host tracker ledger workflow domain lib",
  http: "orchestrator scheduler agent workspace host tracker ledger workflow domain lib",
  orchestrator: "scheduler agent workspace host tracker ledger workflow domain lib",
  scheduler: "domain",
  agent: "workspace host tracker ledger workflow domain lib",
  workspace: "host tracker ledger workflow domain lib",
  host: "tracker ledger workflow domain lib",
  tracker: "ledger workflow domain lib",
  ledger: "workflow domain lib",
  workflow: "domain lib",
  domain: "",
  lib: "",
};

function fileIn(folder: string): string {
  return folder.endsWith(".ts") ? `src/${folder}` : `src/${folder}/subject.ts`;
}

/** A file that imports every other folder. */
function importEverything(folder: string): string {
  const others = FOLDERS.filter((other) => other !== folder);
  const up = folder.endsWith(".ts") ? "./" : "../";
  const lines = others.map((other, index) => {
    const path = other.endsWith(".ts") ? other : `${other}/subject.ts`;
    return `import type { Subject as S${index} } from "${up}${path}";`;
  });
  const all = others.map((_other, index) => `S${index}`).join(", ");
  return `${lines.join("\n")}\nexport const subject = 1;\nexport type Subject = 1;\nexport type All = [${all}];\n`;
}

function importing(path: string): string {
  return `import type { Subject } from "${path}";\nexport type Mine = Subject;\n`;
}

const WAYS: readonly Sample[] = [
  ["value", `import { subject } from "../agent/subject.ts";\nexport const mine = subject;\n`],
  ["re-export", `export { subject as mine } from "../agent/subject.ts";\n`],
  ["dynamic", `export async function load(): Promise<unknown> {\n  return import("../agent/subject.ts");\n}\n`],
  ["node-module", `import { readFileSync } from "node:fs";\nexport const mine = readFileSync;\n`],
  ["bare-node-module", `import { readFileSync } from "fs";\nexport const mine = readFileSync;\n`],
  ["package", `import { z } from "zod";\nexport const mine = z;\n`],
  ["test-file", `import type { Subject } from "../../test/support/subject.ts";\nexport type Mine = Subject;\n`],
].map(([way, source]) => ({ file: `src/scheduler/${way}.ts`, source: source ?? "", rule: IMPORTS }));

const DEEP: readonly Sample[] = [
  { file: "src/agent/codex/up.ts", source: importing("../../scheduler/subject.ts"), rule: IMPORTS },
  { file: "src/agent/codex/root.ts", source: importing("../../daemon.ts"), rule: IMPORTS },
  { file: "src/agent/codex/down.ts", source: importing("../../host/subject.ts"), rule: null },
  { file: "src/host/test-support.ts", source: importing("../../test/support/subject.ts"), rule: IMPORTS },
  { file: "src/host/subject.test.ts", source: importing("../../test/support/subject.ts"), rule: null },
  { file: "src/host/upward.test.ts", source: importing("../http/subject.ts"), rule: IMPORTS },
];

const DASHBOARD: readonly Sample[] = [
  { file: "src/http/page.ts", source: importing("../dashboard/subject.ts"), rule: IMPORTS },
  { file: "src/cli/page.ts", source: importing("../dashboard/subject.ts"), rule: IMPORTS },
  { file: "src/dashboard/types.ts", source: importing("../http/subject.ts"), rule: null },
  {
    file: "src/dashboard/values.tsx",
    source: `import { subject } from "../http/subject.ts";\nexport const mine = subject;\n`,
    rule: IMPORTS,
  },
  { file: "src/dashboard/domain.ts", source: importing("../domain/subject.ts"), rule: IMPORTS },
  {
    file: "src/dashboard/node.ts",
    source: `import { readFileSync } from "node:fs";\nexport const mine = readFileSync;\n`,
    rule: IMPORTS,
  },
  { file: "src/dashboard/timer.ts", source: "setTimeout(() => undefined, 1);\n", rule: null },
];

const TIMERS: readonly Sample[] = [
  { file: "src/agent/timeout.ts", source: "setTimeout(() => undefined, 1);\n", rule: "eslint(no-restricted-globals)" },
  {
    file: "src/agent/interval.ts",
    source: "setInterval(() => undefined, 1);\n",
    rule: "eslint(no-restricted-globals)",
  },
  {
    file: "src/agent/global.ts",
    source: "globalThis.setTimeout(() => undefined, 1);\n",
    rule: "eslint(no-restricted-properties)",
  },
  {
    file: "src/agent/signal.ts",
    source: "export const late = AbortSignal.timeout(1);\n",
    rule: "eslint(no-restricted-properties)",
  },
  { file: "src/agent/module.ts", source: `export { setTimeout } from "node:timers/promises";\n`, rule: IMPORTS },
  { file: "src/host/allowed.ts", source: "setTimeout(() => undefined, 1);\n", rule: null },
  { file: "src/lib/clock.ts", source: "setTimeout(() => undefined, 1);\n", rule: null },
  {
    file: "src/scheduler/now.ts",
    source: "export const now = Date.now();\n",
    rule: "eslint(no-restricted-properties)",
  },
  {
    file: "src/domain/chance.ts",
    source: "export const x = Math.random();\n",
    rule: "eslint(no-restricted-properties)",
  },
];

const HOUSE_RULES: readonly Sample[] = [
  { file: "src/lib/default.ts", source: "export default 1;\n", rule: "import(no-default-export)" },
  {
    file: "src/lib/floating.ts",
    source: "async function go(): Promise<void> {}\nexport function start(): void {\n  go();\n}\n",
    rule: "typescript(no-floating-promises)",
  },
  { file: "src/lib/any.ts", source: "export type Loose = any;\n", rule: "typescript(no-explicit-any)" },
  {
    file: "src/lib/bang.ts",
    source: "export function first(list: string[]): string {\n  return list[0]!;\n}\n",
    rule: "typescript(no-non-null-assertion)",
  },
  {
    file: "src/lib/unsafe.ts",
    source: "export function read(text: string): string {\n  return JSON.parse(text).name;\n}\n",
    rule: "typescript(no-unsafe-return)",
  },
  {
    file: "src/lib/switch.ts",
    source: `export function go(to: "left" | "right"): void {\n  switch (to) {\n    case "left":\n      break;\n  }\n}\n`,
    rule: "typescript(switch-exhaustiveness-check)",
  },
  { file: "src/lib/long.ts", source: "\n".repeat(400) + "export const end = 1;\n", rule: "eslint(max-lines)" },
  {
    file: "src/lib/parameters.ts",
    source: "export function f(a: 1, b: 1, c: 1, d: 1, e: 1): number {\n  return a + b + c + d + e;\n}\n",
    rule: "eslint(max-params)",
  },
  {
    file: "src/lib/skipped.test.ts",
    source: `import { expect, test } from "vitest";\ntest.skip("later", () => {\n  expect(1).toBe(1);\n});\n`,
    rule: "vitest(no-disabled-tests)",
  },
];

const SAMPLES = [...WAYS, ...DEEP, ...DASHBOARD, ...TIMERS, ...HOUSE_RULES];

let tree: TempDir;
let found: z.infer<typeof REPORT>["diagnostics"] = [];

async function write(file: string, source: string): Promise<void> {
  await mkdir(dirname(join(tree.path, file)), { recursive: true });
  await writeFile(join(tree.path, file), source);
}

async function lint(): Promise<void> {
  const oxlint = join(ROOT, "node_modules/oxlint/bin/oxlint");
  const json = await new Promise<string>((done) => {
    execFile(
      process.execPath,
      [oxlint, "-f", "json", "src"],
      { cwd: tree.path, maxBuffer: 2 ** 26 },
      (_error, stdout) => done(stdout),
    );
  });
  found = REPORT.parse(JSON.parse(json)).diagnostics;
}

beforeAll(async () => {
  tree = await makeTempDir();
  for (const name of ["oxlint.config.ts", "scripts", "tsconfig.json", "package.json"]) {
    await cp(join(ROOT, name), join(tree.path, name), {
      recursive: true,
      filter: (path) => !path.endsWith(".test.ts"),
    });
  }
  await symlink(join(ROOT, "node_modules"), join(tree.path, "node_modules"));
  for (const folder of FOLDERS) await write(fileIn(folder), importEverything(folder));
  await write("test/support/subject.ts", "export type Subject = 1;\n");
  for (const { file, source } of SAMPLES) await write(file, source);
  await lint();
});

afterAll(async () => {
  await tree.dispose();
});

test.each(FOLDERS)("%s imports only what lies below it", (folder) => {
  const refused = found
    .filter(({ filename, code }) => filename === fileIn(folder) && code === IMPORTS)
    .map(({ message }) => /^'(?:\.\.?\/)*(daemon\.ts|\w+)/.exec(message)?.[1] ?? message);
  const allowed = MAY_IMPORT[folder].split(" ");
  const expected = FOLDERS.filter((other) => other !== folder && !allowed.includes(other));
  expect(refused.toSorted()).toEqual(expected.toSorted());
});

describe.each([
  ["every way to import", WAYS],
  ["subfolders and tests", DEEP],
  ["the dashboard", DASHBOARD],
  ["timers, clocks and chance", TIMERS],
  ["house rules", HOUSE_RULES],
])("%s", (_group, samples) => {
  test.each(samples.map(({ file, rule }) => [file, rule] as const))("%s: %s", (file, rule) => {
    const rules = found.filter(({ filename }) => filename === file).map(({ code }) => code);
    if (rule === null) expect(rules).toEqual([]);
    else expect(rules).toContain(rule);
  });
});
