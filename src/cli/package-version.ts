/** Which version of the program this is. */
import { readFileSync } from "node:fs";

/** The package's own version; package.json lies two levels up from the source and from the build. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const isObject = typeof manifest === "object" && manifest !== null;
  if (isObject && "version" in manifest && typeof manifest.version === "string") return manifest.version;
  throw new Error("package.json has no version: the installation is broken");
}
