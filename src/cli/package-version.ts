/** Which version of the program this is. */
import { readFileSync } from "node:fs";
import { packageFile } from "../lib/package-file.ts";

/** The package's own version. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
  const isObject = typeof manifest === "object" && manifest !== null;
  if (isObject && "version" in manifest && typeof manifest.version === "string") return manifest.version;
  throw new Error("package.json has no version: the installation is broken");
}
