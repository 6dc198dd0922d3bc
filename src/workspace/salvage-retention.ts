/** Lets kept work go when it is old: at the start of the daemon, and once a day. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Service } from "../lib/service.ts";
import { isMissing } from "./containment.ts";
import { SCRATCH_PREFIX } from "./salvage.ts";

/** contract.md: long enough for a holiday. */
const KEPT_MS = 14 * 24 * 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** A salvage takes minutes at most; what is older was cut off. */
const SCRATCH_KEPT_MS = 60 * 60 * 1000;

export interface SalvageRetentionDeps {
  /** `<state-dir>/salvage`, which need not exist. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class SalvageRetention implements Service {
  readonly #deps: SalvageRetentionDeps;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;

  constructor(deps: SalvageRetentionDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    this.#running ??= this.#prune();
    await this.#running;
  }

  async stop(): Promise<void> {
    await this.#running;
    this.#timer?.cancel();
  }

  async #prune(): Promise<void> {
    await pruneSalvage(this.#deps);
    this.#timer = this.#deps.clock.setTimer(DAY_MS, () => {
      this.#running = this.#prune();
    });
  }
}

/** What can't be removed is a warning, and tried again the next day. */
async function pruneSalvage({ dir, clock, log }: SalvageRetentionDeps): Promise<void> {
  const now = clock.now();
  let gone = 0;
  try {
    for (const name of await list(dir)) {
      const keptMs = keptMsOf(name);
      if (keptMs === null || now - (await stat(join(dir, name))).mtimeMs <= keptMs) continue;
      await rm(join(dir, name), { recursive: true, force: true });
      gone += 1;
    }
  } catch (error) {
    log.warn({ err: error, dir }, "old kept work can't be removed; tried again tomorrow");
  }
  if (gone > 0) log.info({ dir, files: gone }, "old kept work of workspaces removed");
}

/** Null for what isn't ours. */
function keptMsOf(name: string): number | null {
  if (name.startsWith(SCRATCH_PREFIX)) return SCRATCH_KEPT_MS;
  return name.endsWith(".bundle") || name.endsWith(".patch") ? KEPT_MS : null;
}

async function list(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
