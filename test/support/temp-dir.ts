/** A directory of a test's own that goes away with the test. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Removed when disposed: `await using dir = await makeTempDir()`, or `dispose` in an `afterEach`. */
export interface TempDir extends AsyncDisposable {
  /** Absolute, with links resolved. */
  readonly path: string;
  dispose(): Promise<void>;
}

/** Makes an empty directory (0700) under the system's temporary folder. */
export async function makeTempDir(prefix = "symphony-test-"): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), prefix)));
  const dispose = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });
  return { path, dispose, [Symbol.asyncDispose]: dispose };
}
