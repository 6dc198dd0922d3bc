/** Ticks on a large board: between full readings only what has changed is read, and the list of candidates is kept up here. */
import { normalizeState } from "../../domain/issue.ts";
import type { Clock } from "../../lib/clock.ts";
import type { LinearClient } from "./client.ts";
import { DELTA_DOCUMENT, ID_BATCH, ISSUE_PAGE, RELATIONS_WITH_ISSUE } from "./documents.ts";
import { reasonOf } from "./failures.ts";
import { isGated } from "./normalize.ts";
import type { LinearScope } from "./provider.ts";
import type { IssueReads, TickQuery, TickRecords } from "./reads.ts";
import { inStates, ofIds, visible, wholePage } from "./reads.ts";
import type { IssueNode, LightIssue, ReadIssue } from "./records.ts";
import { readLightIssues, readPage, readStates } from "./records.ts";
import { changedFilter, distinctStates, idVariables } from "./scope.ts";

/**
 * A change of a relation, a move out of the scope and a deletion don't show in what has changed, so the whole board is read this often.
 * Until then such an issue is caught when it is refreshed just before its start. Somewhat less than five minutes, so that each of the
 * slow polls, which are five minutes apart, is one of these.
 */
const FULL_EVERY_MS = 290_000;
/** Answers overtake each other, and an issue may be written a little after its stamp. */
const OVERLAP_MS = 120_000;

/** The candidates of the last full reading, kept up since. */
interface Listing {
  /** Of the states that it was made for. */
  readonly states: readonly string[];
  readonly readAt: number;
  /** The latest `updatedAt` seen; Linear's clock. */
  readonly cursor: string;
  readonly records: ReadonlyMap<string, ReadIssue>;
}

/** What one delta request has answered. */
interface Delta {
  readonly changed: readonly LightIssue[];
  readonly tracked: readonly ReadIssue[];
  readonly blockers: ReadonlyMap<string, string>;
}

export interface DeltaDeps {
  readonly client: LinearClient;
  readonly clock: Clock;
  readonly scope: LinearScope;
  readonly reads: IssueReads;
}

function keyOf(record: ReadIssue, index: number): string {
  return record.ok ? record.node.id : (record.id ?? `malformed ${index}`);
}

function stampOf({ updatedAt }: IssueNode): readonly string[] {
  return updatedAt === null || Number.isNaN(Date.parse(updatedAt)) ? [] : [updatedAt];
}

/** Ids and states of what blocks an issue that waits for its blockers. */
function blockersOf(record: ReadIssue): ReadonlyMap<string, string | null> {
  const blockers = new Map<string, string | null>();
  if (!record.ok || !isGated(record.node)) return blockers;
  for (const { type, issue } of record.node.inverseRelations.nodes) {
    if (type === "blocks" && issue !== null && issue.id !== null) blockers.set(issue.id, issue.state?.name ?? null);
  }
  return blockers;
}

export class DeltaReads {
  readonly #deps: DeltaDeps;
  #listing: Listing | null = null;

  constructor(deps: DeltaDeps) {
    this.#deps = deps;
  }

  /** A board that fits on one page is always read whole: that is one request either way. */
  async tick(query: TickQuery, signal?: AbortSignal): Promise<TickRecords> {
    const states = distinctStates(query.states);
    const ids = this.#deps.reads.usable(query.ids);
    const listing = this.#usableListing(states);
    const answer = listing === null ? null : await this.#update(listing, ids, signal);
    if (answer !== null) return answer;
    const readAt = this.#deps.clock.now();
    // After a delta that did not do, the tick has begun and must come to its end.
    const lane = listing === null ? "poll" : "refresh";
    const records = await this.#deps.reads.tick({ states, ids }, lane, signal);
    this.#listing = this.#startListing(states, readAt, records.candidates);
    return records;
  }

  /** Takes over what a refresh by id has found, so that a candidate that has gone isn't offered again. */
  learn(ids: readonly string[], found: readonly ReadIssue[]): void {
    if (this.#listing !== null) this.#listing = withFresh(this.#listing, ids, found);
  }

  #usableListing(names: readonly string[]): Listing | null {
    const listing = this.#listing;
    if (listing === null || listing.states.join("\n") !== names.join("\n")) return null;
    return this.#deps.clock.now() - listing.readAt < FULL_EVERY_MS ? listing : null;
  }

  #startListing(states: readonly string[], readAt: number, candidates: readonly ReadIssue[]): Listing | null {
    if (candidates.length <= ISSUE_PAGE || this.#deps.scope.view !== null) return null;
    const records = new Map(candidates.map((record, index) => [keyOf(record, index), record]));
    const stamps = candidates.flatMap((record) => (record.ok ? stampOf(record.node) : []));
    const cursor = stamps.toSorted().at(-1);
    return cursor === undefined ? null : { states, readAt, cursor, records };
  }

  /** Null where a full reading is the better answer: much has changed, or something in the request can't be used. */
  async #update(listing: Listing, ids: readonly string[], signal?: AbortSignal): Promise<TickRecords | null> {
    const watched = new Set([...listing.records.values()].flatMap((record) => [...blockersOf(record).keys()]));
    if (watched.size > ID_BATCH) return null;
    const batch = ids.slice(0, ID_BATCH);
    const delta = await this.#read(listing, batch, { watched: [...watched], signal });
    if (delta === null) return null;
    const rest = await this.#deps.reads.byIds(ids.slice(batch.length), "refresh", signal);
    const tracked = [...delta.tracked, ...rest];
    const known = withFresh(listing, ids, tracked);
    const stale = staleIds(known, delta, new Set(ids));
    const fresh = stale.length === 0 ? [] : await this.#deps.reads.byIds(stale, "refresh", signal);
    const cursor =
      [listing.cursor, ...delta.changed.map((issue) => issue.updatedAt)].toSorted().at(-1) ?? listing.cursor;
    this.#listing = { ...withFresh(known, stale, fresh), cursor };
    return { candidates: [...this.#listing.records.values()], tracked };
  }

  async #read(
    listing: Listing,
    ids: readonly string[],
    { watched, signal }: { readonly watched: readonly string[]; readonly signal: AbortSignal | undefined },
  ): Promise<Delta | null> {
    const since = new Date(Date.parse(listing.cursor) - OVERLAP_MS).toISOString();
    const { scope, client } = this.#deps;
    const variables = {
      changedFilter: changedFilter(scope, since),
      first: ISSUE_PAGE,
      ...idVariables(scope, ids),
      tracked: Math.max(ids.length, 1),
      withTracked: ids.length > 0,
      relations: RELATIONS_WITH_ISSUE,
      watched,
      watchedCount: Math.max(watched.length, 1),
      withWatched: watched.length > 0,
    };
    let data: unknown;
    try {
      data = await client.query({ document: DELTA_DOCUMENT, variables, lane: "poll", signal });
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === "too_complex" || reason === "invalid_input") return null;
      throw error;
    }
    return readDelta(data, ids, watched);
  }
}

/** Null where more has changed than fits on a page, or where a record can't be read. */
function readDelta(data: unknown, ids: readonly string[], watched: readonly string[]): Delta | null {
  const page = readPage(data, "changed");
  const changed = page.endCursor === null ? readLightIssues(page.nodes) : null;
  const blockers = watched.length === 0 ? NO_STATES : readStates(wholePage(readPage(data, "watched")).nodes);
  if (changed === null || blockers === null) return null;
  const tracked = ids.length === 0 ? [] : ofIds(visible(wholePage(readPage(data, "tracked")).nodes), new Set(ids));
  return { changed, tracked, blockers };
}

const NO_STATES: ReadonlyMap<string, string> = new Map();

/** The listing after the ids were read: those found in a listed state are in it as found, the others aren't. */
function withFresh(listing: Listing, ids: readonly string[], found: readonly ReadIssue[]): Listing {
  const records = new Map(listing.records);
  for (const id of ids) records.delete(id);
  for (const [index, record] of inStates(found, listing.states).entries()) records.set(keyOf(record, index), record);
  return { ...listing, records };
}

/** Ids whose record can no longer be trusted: changed ones that may be candidates, and those whose blockers have changed. */
function staleIds(listing: Listing, delta: Delta, fresh: ReadonlySet<string>): string[] {
  const wanted = new Set(listing.states.map(normalizeState));
  const stale = new Set<string>();
  for (const issue of delta.changed) {
    const known = listing.records.get(issue.id);
    const isKnown = known?.ok === true && known.node.updatedAt === issue.updatedAt;
    const isCandidate =
      issue.archivedAt === null && issue.trashed !== true && wanted.has(normalizeState(issue.state.name));
    // What is listed and no longer a candidate is read again too, and so leaves the list.
    if (!isKnown && (isCandidate || known !== undefined)) stale.add(issue.id);
  }
  for (const [id, record] of listing.records) {
    const hasMoved = [...blockersOf(record)].some(
      ([blocker, state]) => (delta.blockers.get(blocker) ?? null) !== state,
    );
    if (hasMoved) stale.add(id);
  }
  return [...stale].filter((id) => !fresh.has(id));
}
