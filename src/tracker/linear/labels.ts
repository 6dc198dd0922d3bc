/** Names of labels by id, remembered: issues carry ids alone, which cost a hundredth of what names would. */
import type { Clock } from "../../lib/clock.ts";
import type { LinearClient } from "./client.ts";
import { LABEL_PAGE, LABELS_DOCUMENT } from "./documents.ts";
import { readLabels } from "./records.ts";
import type { ReadOptions } from "./relations.ts";

/** A renamed label is noticed within this time. */
const FRESH_MS = 600_000;

interface KnownLabel {
  /** Null = Linear doesn't know the id; it is asked again when that is old, not at each tick. */
  readonly name: string | null;
  readonly readAt: number;
}

export class LabelNames {
  readonly #client: LinearClient;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownLabel>();

  constructor(client: LinearClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Makes sure that the ids' names are known: no request unless an id is new or its name is old. */
  async load(ids: Iterable<string>, options: ReadOptions): Promise<void> {
    const now = this.#clock.now();
    const missing = [...new Set(ids)].filter((id) => now - (this.#known.get(id)?.readAt ?? 0) >= FRESH_MS);
    for (let from = 0; from < missing.length; from += LABEL_PAGE) {
      const batch = missing.slice(from, from + LABEL_PAGE);
      const variables = { ids: batch, first: batch.length };
      const found = readLabels(await this.#client.query({ document: LABELS_DOCUMENT, variables, ...options }));
      for (const id of batch) this.#known.set(id, { name: found.get(id) ?? null, readAt: now });
    }
  }

  /** Null for an id that Linear doesn't know. */
  name(id: string): string | null {
    return this.#known.get(id)?.name ?? null;
  }
}
