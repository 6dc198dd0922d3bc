/** Which versions of the app-server we know: too old to be used, tested, or untested. */
import type { Log } from "../../lib/log.ts";
import { MANIFEST } from "./manifest.ts";

/** Before it, `turn/completed` was never sent, item events had no ids, and policies were spelled differently (measured on 0.58). */
export const OLDEST_USABLE = "0.100.0";
/** What the tests of test/codex run on; recorded sessions of older ones are replayed. */
const NEWEST_TESTED = MANIFEST.version;

/** 0.0.0 is a build from source, whose age can't be told; another program's version (`name/1.2.3`) says nothing about the protocol's. */
function isKnowable(version: string): boolean {
  return /^\d/.test(version) && !version.startsWith("0.0.0");
}

export function isTooOld(version: string): boolean {
  return isKnowable(version) && compare(version, OLDEST_USABLE) < 0;
}

function compare(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  const at = left.findIndex((part, index) => part !== right[index]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

/** Major, minor and patch; a pre-release counts as its release. */
function partsOf(version: string): readonly number[] {
  return [0, 1, 2].map((index) => Number.parseInt(version.split(".")[index] ?? "0", 10) || 0);
}

/** Says once for each version that it was never tested. */
export class VersionWatch {
  readonly #log: Log;
  readonly #warned = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** The version that answered; null when it named none. */
  note(version: string | null): void {
    if (version === null || this.#warned.has(version)) return;
    if (!isKnowable(version) || compare(version, NEWEST_TESTED) <= 0) return;
    this.#warned.add(version);
    const tested = `${OLDEST_USABLE} to ${NEWEST_TESTED}`;
    this.#log.warn(
      { version, tested },
      "this version of codex is newer than those that were tested; `symphony protocol check` says what moved",
    );
  }
}
