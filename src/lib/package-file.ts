/** Where the package's own files are. */
import { fileURLToPath } from "node:url";

/** The absolute path of a file that is named by its path in the package; both src/lib/ and the build's files lie two folders deep. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
