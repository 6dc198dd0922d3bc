/** Linear's hourly buckets of requests and of complexity points, owned here for the daemon and its agents' tool calls alike. */
import { AppError } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";

/** What a request is for; the less it can wait, the deeper it may dip into the buckets. */
export type Lane = "refresh" | "poll" | "tool_change" | "tool_read" | "aside";

/** One bucket as it is now; amounts are requests or points, `reset_at` is an RFC 3339 instant. A type, so that it is a JsonValue. */
export type BucketReading = {
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: string | null;
};

/** What status and log show; buckets are null until an answer has told of them. */
export type BudgetReading = {
  readonly requests: BucketReading | null;
  readonly complexity: BucketReading | null;
  /** RFC 3339 instant until which nothing is sent, or null. */
  readonly throttled_until: string | null;
  /** Requests sent since start, and points that they cost. */
  readonly sent: number;
  readonly points: number;
};

/** The slice of a response's headers that is read. */
export interface HeaderReader {
  get(name: string): string | null;
}

interface Bucket {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number | null;
  readonly heardAt: number;
}

const PERIOD_MS = 3_600_000;
/** When a refusal names no time. */
const DEFAULT_THROTTLE_MS = 60_000;
/** No bucket takes longer than its period to refill, so a later time is somebody's clock. */
const MAX_THROTTLE_MS = PERIOD_MS;

/** Share of a bucket that a lane leaves to those above it. Agents' reads end before the polls have to slow down. */
const RESERVE: Readonly<Record<Lane, number>> = {
  refresh: 0,
  poll: 0.02,
  tool_change: 0.05,
  tool_read: 0.25,
  aside: 0.25,
};

/**
 * Where agents' reads may no more, their changes may: but together only this share of what flows back into a bucket, so that an agent
 * that changes things without end can't drain what the polls need.
 */
const CHANGES_BELOW = RESERVE.tool_read;
const CHANGES_SHARE = 0.25;

/** Below a share of the bucket the poll keeps a distance, in ms, to the one before. Widest first. */
const POLL_SPACING: readonly { readonly below: number; readonly ms: number }[] = [
  { below: 0.05, ms: 300_000 },
  { below: 0.1, ms: 120_000 },
  { below: 0.2, ms: 60_000 },
];

function numberIn(headers: HeaderReader, name: string): number | null {
  const text = headers.get(name);
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** One owner per credential. */
export class Budget {
  readonly #clock: Clock;
  #requests: Bucket | null = null;
  #complexity: Bucket | null = null;
  #throttledUntil = 0;
  /** Linear also counts some root fields by themselves, such as searches: an agent that has used one up holds back agents alone. */
  #toolsThrottledUntil = 0;
  #polledAt = Number.NEGATIVE_INFINITY;
  /** Until then what agents have changed uses up their share of what flows back. */
  #changesPaidAt = 0;
  #sent = 0;
  #points = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Lets one request pass, or throws tracker_rate_limited with `data.resetAt`. */
  admit(lane: Lane): void {
    const now = this.#clock.now();
    const throttledUntil = isTool(lane)
      ? Math.max(this.#throttledUntil, this.#toolsThrottledUntil)
      : this.#throttledUntil;
    if (now < throttledUntil) throw rateLimited("Linear has throttled us", throttledUntil, now);
    for (const bucket of this.#buckets()) {
      const reserve = RESERVE[lane] * bucket.limit;
      const missing = reserve - estimate(bucket, now);
      if (missing <= 0) continue;
      const opensAt = now + Math.max(1_000, Math.ceil((missing * PERIOD_MS) / bucket.limit));
      throw rateLimited("Linear's hourly budget is nearly spent", opensAt, now);
    }
    if (lane === "poll") this.#spacePolls(now);
    if (lane === "tool_change") this.#spaceChanges(now);
    this.#sent += 1;
    // Until the answer says what is really left, so that many at once don't all see the same last request.
    if (this.#requests !== null) this.#requests = { ...this.#requests, remaining: this.#requests.remaining - 1 };
  }

  #buckets(): readonly Bucket[] {
    return [this.#requests, this.#complexity].filter((bucket) => bucket !== null);
  }

  /** What is left of the emptier bucket, 0 to 1. */
  #shareLeft(now: number): number {
    return Math.min(1, ...this.#buckets().map((bucket) => estimate(bucket, now) / bucket.limit));
  }

  #spacePolls(now: number): void {
    const share = this.#shareLeft(now);
    const spacing = POLL_SPACING.find((step) => share < step.below)?.ms ?? 0;
    const nextAt = this.#polledAt + spacing;
    if (now < nextAt) throw rateLimited("Linear's hourly budget is low, polling slows down", nextAt, now);
    this.#polledAt = now;
  }

  #spaceChanges(now: number): void {
    if (now < this.#changesPaidAt && this.#shareLeft(now) < CHANGES_BELOW) {
      throw rateLimited("Linear's hourly budget is low, changes are spaced out", this.#changesPaidAt, now);
    }
    this.#payChange(this.#requests, 1, now);
  }

  /** The time that it takes the agents' share to flow back. */
  #payChange(bucket: Bucket | null, amount: number, now: number): void {
    if (bucket === null) return;
    const ms = (amount * PERIOD_MS) / (bucket.limit * CHANGES_SHARE);
    this.#changesPaidAt = Math.max(this.#changesPaidAt, Math.ceil(now + ms));
  }

  /** Takes over what an answer's headers say; absent ones leave the last reading. */
  learn(headers: HeaderReader, lane: Lane): void {
    const heardAt = this.#clock.now();
    this.#requests = readBucket(headers, "requests", heardAt) ?? this.#requests;
    this.#complexity = readBucket(headers, "complexity", heardAt) ?? this.#complexity;
    const points = numberIn(headers, "x-complexity") ?? 0;
    this.#points += points;
    if (lane === "tool_change") this.#payChange(this.#complexity, points, heardAt);
  }

  /** Notes a refusal; answers the epoch ms at which such requests may go on. */
  throttle(headers: HeaderReader, lane: Lane): number {
    const now = this.#clock.now();
    const stated = statedReset(headers, now);
    const resetAt =
      stated !== null && stated > now ? Math.min(stated, now + MAX_THROTTLE_MS) : now + DEFAULT_THROTTLE_MS;
    if (isTool(lane) && isEndpointAlone(headers)) {
      this.#toolsThrottledUntil = Math.max(this.#toolsThrottledUntil, resetAt);
      return this.#toolsThrottledUntil;
    }
    this.#throttledUntil = Math.max(this.#throttledUntil, resetAt);
    return this.#throttledUntil;
  }

  reading(): BudgetReading {
    const now = this.#clock.now();
    return {
      requests: show(this.#requests, now),
      complexity: show(this.#complexity, now),
      throttled_until: now < this.#throttledUntil ? new Date(this.#throttledUntil).toISOString() : null,
      sent: this.#sent,
      points: this.#points,
    };
  }
}

function show(bucket: Bucket | null, now: number): BucketReading | null {
  if (bucket === null) return null;
  const { limit, resetAt } = bucket;
  const reset_at = resetAt === null || resetAt > MAX_INSTANT ? null : new Date(resetAt).toISOString();
  return { limit, remaining: Math.floor(estimate(bucket, now)), reset_at };
}

/** Dates end here. */
const MAX_INSTANT = 8.64e15;

/** Buckets leak: they refill all the time at their limit per hour. */
function estimate(bucket: Bucket, now: number): number {
  return Math.min(bucket.limit, bucket.remaining + (Math.max(0, now - bucket.heardAt) * bucket.limit) / PERIOD_MS);
}

function readBucket(headers: HeaderReader, name: "requests" | "complexity", heardAt: number): Bucket | null {
  const limit = numberIn(headers, `x-ratelimit-${name}-limit`);
  const remaining = numberIn(headers, `x-ratelimit-${name}-remaining`);
  if (limit === null || limit === 0 || remaining === null) return null;
  return { limit, remaining, resetAt: numberIn(headers, `x-ratelimit-${name}-reset`), heardAt };
}

function isTool(lane: Lane): boolean {
  return lane === "tool_read" || lane === "tool_change";
}

function isEmpty(headers: HeaderReader, name: string): boolean {
  return numberIn(headers, `x-ratelimit-${name}-remaining`) === 0;
}

/** Only the counter of a root field is used up, not the credential's own buckets. */
function isEndpointAlone(headers: HeaderReader): boolean {
  return isEmpty(headers, "endpoint-requests") && !isEmpty(headers, "requests") && !isEmpty(headers, "complexity");
}

/** The reset of whichever bucket is empty (the latest of several), or what Retry-After says; null when neither says anything. */
function statedReset(headers: HeaderReader, now: number): number | null {
  const resets = ["endpoint-requests", "requests", "complexity"]
    .filter((name) => isEmpty(headers, name))
    .map((name) => numberIn(headers, `x-ratelimit-${name}-reset`))
    .filter((reset) => reset !== null);
  if (resets.length > 0) return Math.max(...resets);
  const retryAfter = numberIn(headers, "retry-after");
  return retryAfter === null ? null : now + retryAfter * 1_000;
}

function rateLimited(why: string, resetAt: number, now: number): AppError {
  const seconds = Math.ceil((resetAt - now) / 1_000);
  return new AppError("tracker_rate_limited", `${why}; requests may go on in ${seconds} s`, { resetAt });
}
