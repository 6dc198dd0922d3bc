/** Joins refreshes of several workers: what is asked for while a request is under way goes out together in the next one. */

/** A keyed record; a null id may belong to anybody. */
interface Keyed {
  readonly id: string | null;
}

interface Job<Found> {
  readonly ids: ReadonlySet<string>;
  readonly resolve: (found: readonly Found[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Coalescer<Found extends Keyed> {
  readonly #read: (ids: readonly string[]) => Promise<readonly Found[]>;
  #queue: Job<Found>[] = [];
  #busy = false;

  /** `read` answers the visible ones of the ids it is given, all or nothing. */
  constructor(read: (ids: readonly string[]) => Promise<readonly Found[]>) {
    this.#read = read;
  }

  /** What `read` has found of these ids. A caller who gives up doesn't end the request, which others may wait for. */
  async fetch(ids: readonly string[], signal?: AbortSignal): Promise<readonly Found[]> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<readonly Found[]>();
    this.#queue.push({ ids: new Set(ids), resolve, reject });
    const giveUp = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", giveUp, { once: true });
    void this.#run();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async #run(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    while (this.#queue.length > 0) {
      // Calls of the same turn of the event loop go together from the start.
      await Promise.resolve();
      const jobs = this.#queue;
      this.#queue = [];
      await this.#serve(jobs);
    }
    this.#busy = false;
  }

  async #serve(jobs: readonly Job<Found>[]): Promise<void> {
    try {
      const found = await this.#read([...new Set(jobs.flatMap((job) => [...job.ids]))]);
      for (const job of jobs) job.resolve(found.filter(({ id }) => id === null || job.ids.has(id)));
    } catch (error) {
      for (const job of jobs) job.reject(error);
    }
  }
}
