/** Leaky buckets as Linear keeps them: they refill all the time, and answers say how much is left. */

export interface BucketLimits {
  readonly requests: number;
  readonly complexity: number;
}

/** A personal key's limits; an hour's worth each. */
export const KEY_LIMITS: BucketLimits = { requests: 2_500, complexity: 3_000_000 };
const PERIOD_MS = 3_600_000;

class Bucket {
  readonly limit: number;
  #left: number;
  #at: number;

  constructor(limit: number, now: number) {
    this.limit = limit;
    this.#left = limit;
    this.#at = now;
  }

  left(now: number): number {
    this.#left = Math.min(this.limit, this.#left + ((now - this.#at) * this.limit) / PERIOD_MS);
    this.#at = now;
    return this.#left;
  }

  set(left: number, now: number): void {
    this.#left = left;
    this.#at = now;
  }

  /** When the bucket will be full again. */
  resetAt(now: number): number {
    return Math.ceil(now + ((this.limit - this.left(now)) * PERIOD_MS) / this.limit);
  }
}

/** The request and the complexity bucket of one credential. */
export class Buckets {
  readonly #requests: Bucket;
  readonly #complexity: Bucket;
  readonly #now: () => number;

  constructor(limits: BucketLimits, now: () => number) {
    this.#now = now;
    this.#requests = new Bucket(limits.requests, now());
    this.#complexity = new Bucket(limits.complexity, now());
  }

  /** Takes one request, or says that there is none. */
  takeRequest(): boolean {
    return take(this.#requests, 1, this.#now());
  }

  /** Takes points, or says that there aren't enough. */
  takePoints(points: number): boolean {
    return take(this.#complexity, points, this.#now());
  }

  /** Sets what is left, for tests of a low budget. */
  drain(left: Partial<BucketLimits>): void {
    if (left.requests !== undefined) this.#requests.set(left.requests, this.#now());
    if (left.complexity !== undefined) this.#complexity.set(left.complexity, this.#now());
  }

  left(): BucketLimits {
    return { requests: this.#requests.left(this.#now()), complexity: this.#complexity.left(this.#now()) };
  }

  limits(): BucketLimits {
    return { requests: this.#requests.limit, complexity: this.#complexity.limit };
  }

  resets(): BucketLimits {
    return { requests: this.#requests.resetAt(this.#now()), complexity: this.#complexity.resetAt(this.#now()) };
  }

  /** Linear's response headers; resets are epoch milliseconds. */
  headers(points: number): Record<string, string> {
    const [limits, left, resets] = [this.limits(), this.left(), this.resets()];
    return {
      "x-complexity": String(Math.ceil(points)),
      "x-ratelimit-requests-limit": String(limits.requests),
      "x-ratelimit-requests-remaining": String(Math.floor(left.requests)),
      "x-ratelimit-requests-reset": String(resets.requests),
      "x-ratelimit-complexity-limit": String(limits.complexity),
      "x-ratelimit-complexity-remaining": String(Math.floor(left.complexity)),
      "x-ratelimit-complexity-reset": String(resets.complexity),
    };
  }
}

function take(bucket: Bucket, amount: number, now: number): boolean {
  const left = bucket.left(now);
  if (left < amount) return false;
  bucket.set(left - amount, now);
  return true;
}
