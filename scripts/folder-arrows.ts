/** The map of the source folders as lint rules: which folder may import which, and what else a folder must not touch. */
import type { OxlintOverride } from "oxlint";

/** From the top down. A folder may import only what stands after it. */
export const FOLDERS = [
  "cli",
  "daemon.ts",
  "http",
  "orchestrator",
  "scheduler",
  "agent",
  "workspace",
  "host",
  "tracker",
  "ledger",
  "workflow",
  "domain",
  "lib",
] as const;

type Folder = (typeof FOLDERS)[number];

/** Folders that import less than what stands below them. */
const ONLY: Partial<Record<Folder, readonly Folder[]>> = { scheduler: ["domain"], domain: [] };

/** Pure folders: no package, no node module, no clock and no chance. */
const PURE: readonly Folder[] = ["scheduler", "domain"];

/** Runs in browsers, and is served as files: nobody imports it, and of ours it takes the types of the API's answers alone. */
const DASHBOARD = "src/dashboard/**/*.{ts,tsx}";

/** Where raw timers are allowed: the clock is made of them, the end of a process tree must not hang on a test's clock, a page has its own. */
const MAY_USE_TIMERS: readonly string[] = ["src/lib/clock.ts", "src/host/**/*.ts", DASHBOARD];

const UNIT_TESTS = "**/*.test.ts";

/** Matching is on the text of the import, so a pattern climbs with `../` before it names a folder. */
interface ImportPattern {
  readonly regex: string;
  readonly message: string;
  readonly allowTypeImports?: boolean;
}

const NO_TESTS: ImportPattern = {
  regex: String.raw`^(\.\./)+(test|bench|scripts)/|\.test\.ts$`,
  message: "The product doesn't import its tests, benchmarks or scripts.",
};

const NO_PACKAGES: ImportPattern = {
  regex: "^[^.]",
  message: "This folder is pure: it imports neither packages nor node modules.",
};

const NO_TIMER_MODULES: ImportPattern = {
  regex: "^(node:)?timers(/promises)?$",
  message: "All waiting goes through the Clock of lib/clock.ts.",
};

/** What `folder` may not import of the other folders. */
function arrows(folder: Folder): ImportPattern {
  const below: readonly Folder[] = ONLY[folder] ?? FOLDERS.slice(FOLDERS.indexOf(folder) + 1);
  const banned = FOLDERS.filter((other) => other !== folder && !below.includes(other));
  const names = [...banned, "dashboard"].map((name) =>
    name.endsWith(".ts") ? name.replace(".", String.raw`\.`) + "$" : `${name}/`,
  );
  return {
    // daemon.ts lies beside the folders, so it reaches them with `./`.
    regex: String.raw`^(${folder.endsWith(".ts") ? String.raw`\./` : String.raw`(\.\./)+`})(${names.join("|")})`,
    message: `src/${folder} may import only ${below.length === 0 ? "itself" : below.join(", ")} (arrows go down, see CONTRIBUTING.md).`,
  };
}

function restrictImports(patterns: readonly (ImportPattern | null)[]): Pick<OxlintOverride, "rules"> {
  return {
    rules: { "no-restricted-imports": ["error", { patterns: patterns.filter((pattern) => pattern !== null) }] },
  };
}

/** One override for a folder's source; its unit tests keep the arrows, and may use packages, timers and test/ as they like. */
function folderOverrides(folder: Folder): OxlintOverride[] {
  const files = [folder.endsWith(".ts") ? `src/${folder}` : `src/${folder}/**/*.ts`];
  const source = [arrows(folder), NO_TESTS, NO_TIMER_MODULES, PURE.includes(folder) ? NO_PACKAGES : null];
  return [
    { files, excludeFiles: [UNIT_TESTS, ...MAY_USE_TIMERS], ...restrictImports(source) },
    {
      files: MAY_USE_TIMERS.filter((file) => file.startsWith(`src/${folder}/`)),
      ...restrictImports([arrows(folder), NO_TESTS]),
    },
    { files: files.map((file) => file.replace("*.ts", UNIT_TESTS)), ...restrictImports([arrows(folder)]) },
  ].filter((override) => override.files.length > 0);
}

const BROWSER_ONLY = "The dashboard runs in browsers: of the daemon it takes types of http/, and nothing else.";

const dashboard: OxlintOverride = {
  files: [DASHBOARD],
  excludeFiles: [UNIT_TESTS],
  ...restrictImports([
    { regex: String.raw`^(\.\./)+http/`, message: BROWSER_ONLY, allowTypeImports: true },
    {
      regex: String.raw`^(\.\./)+(${FOLDERS.filter((folder) => folder !== "http").join("|")})|^node:`,
      message: BROWSER_ONLY,
    },
    NO_TESTS,
  ]),
};

const USE_THE_CLOCK = "All waiting goes through the Clock of lib/clock.ts.";
const TIMERS = ["setTimeout", "setInterval"] as const;

/** Timers that need no import. */
const timers: OxlintOverride = {
  files: ["src/**/*.ts"],
  excludeFiles: [UNIT_TESTS, ...MAY_USE_TIMERS],
  rules: {
    "no-restricted-globals": ["error", ...TIMERS.map((name) => ({ name, message: USE_THE_CLOCK }))],
    "no-restricted-properties": ["error", ...timerProperties()],
  },
};

function timerProperties(): { object: string; property: string; message: string }[] {
  return [
    { object: "AbortSignal", property: "timeout", message: USE_THE_CLOCK },
    ...TIMERS.map((property) => ({ object: "globalThis", property, message: USE_THE_CLOCK })),
  ];
}

const PASS_IT_IN = "This folder is pure: time, chance and settings are passed in.";

/** What a pure folder could reach without an import. */
const purity: OxlintOverride = {
  files: PURE.map((folder) => `src/${folder}/**/*.ts`),
  excludeFiles: [UNIT_TESTS],
  rules: {
    "no-restricted-globals": [
      "error",
      ...[...TIMERS, "process", "performance", "fetch", "crypto", "console"].map((name) => ({
        name,
        message: PASS_IT_IN,
      })),
    ],
    "no-restricted-properties": [
      "error",
      ...timerProperties(),
      { object: "Date", property: "now", message: PASS_IT_IN },
      { object: "Math", property: "random", message: PASS_IT_IN },
    ],
  },
};

/** The overrides that keep the folder map of CONTRIBUTING.md true. */
export const folderArrows: OxlintOverride[] = [...FOLDERS.flatMap(folderOverrides), dashboard, timers, purity];
