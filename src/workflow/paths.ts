/** Path values of WORKFLOW.md: `~`, `$NAME` and `${NAME}` inside, relative to the file's folder. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

import type { Environment } from "./references.ts";

/** What path values are resolved with. */
export interface PathContext {
  readonly env: Environment;
  /** Where `~` leads. */
  readonly homeDir: string;
  /** Folder of WORKFLOW.md. */
  readonly baseDir: string;
}

/** `HOME` of the environment that was passed in, else the machine's own answer. */
export function homeDirOf(env: Environment): string {
  const home = env["HOME"];
  return home === undefined || home === "" ? homedir() : home;
}

/** The absolute path, or the name of a variable in it that is unset or empty. */
export type ExpandedPath = { readonly path: string } | { readonly unset: string };

/** Only a leading `~` or `~/` is the home directory. Nothing else of a shell's is expanded, and no link is resolved. */
export function expandPath(text: string, context: PathContext): ExpandedPath {
  let unset: string | null = null;
  const withVariables = text.replaceAll(
    /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g,
    (_, braced?: string, bare?: string) => {
      const name = braced ?? bare ?? "";
      const value = context.env[name] ?? "";
      if (value === "") unset ??= name;
      return value;
    },
  );
  if (unset !== null) return { unset };
  const isHome = withVariables === "~" || withVariables.startsWith("~/");
  const path = isHome ? join(context.homeDir, withVariables.slice(1)) : withVariables;
  return { path: isAbsolute(path) ? resolve(path) : resolve(context.baseDir, path) };
}
