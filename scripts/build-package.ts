/** The program as it is shipped: its modules and their libraries in a few readable files, which start in two thirds of the time. `npm run build` checks types first. */
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { build, type InlineConfig } from "vite";

const ROOT = resolve(import.meta.dirname, "..");

/** An addon, which is found by where it is installed. The dashboard's libraries are served from there too, and imported by nothing here. */
const NOT_BUNDLED = ["better-sqlite3"];

/** Classes that do nothing when they are made: what is made of them and not used is left out. Linear's SDK makes 1,300 documents, of which none is used here. */
const PURE = ["TypedDocumentString"];

interface Part {
  /** Files that are started as a process, by their path in dist/ without an ending. */
  readonly entries: Readonly<Record<string, string>>;
  /** What is imported on demand stays in files of its own; otherwise all is one file. */
  readonly split: boolean;
}

const PARTS: readonly Part[] = [
  { entries: { "cli/bin": "src/cli/bin.ts" }, split: true },
  // Started for every ticket of a demo: one file loads quickest.
  { entries: { "agent/simulated/main": "src/agent/simulated/main.ts" }, split: false },
];

/** Writes into `target`, over what was there. Every file lies two folders below the package, or is an entry (src/lib/package-file.ts). */
async function bundle(target: string): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  for (const part of PARTS) await build(configuration(part, target));
}

function configuration({ entries, split }: Part, target: string): InlineConfig {
  const input = Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(ROOT, path)]));
  const files = { entryFileNames: "[name].js", chunkFileNames: "lib/[name]-[hash].js" };
  return {
    root: ROOT,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    ssr: { target: "node", noExternal: true, external: NOT_BUNDLED },
    build: {
      ssr: true,
      target: "node24",
      outDir: target,
      emptyOutDir: false,
      minify: false,
      // The libraries' own terms, which go where their code goes.
      ...(split ? { license: { fileName: "THIRD-PARTY-LICENSES.md" } } : {}),
      rolldownOptions: {
        input,
        treeshake: { manualPureFunctions: PURE },
        output: split ? files : { ...files, codeSplitting: false },
      },
    },
  };
}

/** dist/, or the folder that is named. */
await bundle(resolve(process.argv[2] ?? join(ROOT, "dist")));
