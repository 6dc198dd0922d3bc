import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, it } from "vitest";

/** Imports a module in a process of its own and prints the address of everything that was loaded for it. */
const PROGRAM = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); loaded.push(found.url); return found; } });
await import(process.argv[1]);
console.log(JSON.stringify(loaded));
`;

async function loadedBy(module: string): Promise<readonly string[]> {
  const args = ["--input-type=module", "--eval", PROGRAM, new URL(module, import.meta.url).href];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as string[];
}

function usesSdk(loaded: readonly string[]): boolean {
  return loaded.some((url) => url.includes("/node_modules/@linear/sdk/") || url.includes("/node_modules/graphql/"));
}

it("Linear's SDK and GraphQL are loaded with the adapter, and not for settings or another tracker", async () => {
  expect(usesSdk(await loadedBy("../registry.ts"))).toBe(false);
  expect(usesSdk(await loadedBy("./descriptor.ts"))).toBe(false);
  expect(usesSdk(await loadedBy("./adapter.ts"))).toBe(true);
});
