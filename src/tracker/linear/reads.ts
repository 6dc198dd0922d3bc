/** Reading issues from Linear: complete lists, batches by id, and both in one request for the tick. */
import { AppError } from "../../domain/errors.ts";
import { normalizeState } from "../../domain/issue.ts";
import type { Lane } from "./budget.ts";
import type { LinearClient } from "./client.ts";
import { candidatesDocument, issuesByIdDocument, RELATIONS_WITH_ISSUE, tickDocument } from "./documents.ts";
import { reasonOf } from "./failures.ts";
import { PageSize } from "./page-size.ts";
import { readAllPages } from "./pages.ts";
import type { LinearScope } from "./provider.ts";
import type { Page, ReadIssue } from "./records.ts";
import { readIssue, readPage } from "./records.ts";
import type { ReadOptions } from "./relations.ts";
import { candidateFilter, distinctStates, idVariables, rootOf } from "./scope.ts";

/** Both lists of a tick, as read. */
export interface TickRecords {
  readonly candidates: readonly ReadIssue[];
  readonly tracked: readonly ReadIssue[];
}

/** What a tick asks for. */
export interface TickQuery {
  readonly states: readonly string[];
  readonly ids: readonly string[];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Records of a list. Archived and trashed issues are no longer visible (contract), and one that changes meanwhile may be listed twice. */
export function visible(nodes: readonly unknown[]): ReadIssue[] {
  const seen = new Set<string>();
  return nodes.map(readIssue).filter((record) => {
    const id = record.ok ? record.node.id : record.id;
    if (id !== null && seen.has(id)) return false;
    if (id !== null) seen.add(id);
    return !record.ok || (record.node.archivedAt === null && record.node.trashed !== true);
  });
}

/** The records in one of the states; a malformed one may be in any. */
export function inStates(records: readonly ReadIssue[], states: readonly string[]): ReadIssue[] {
  const wanted = new Set(states.map(normalizeState));
  return records.filter((record) => !record.ok || wanted.has(normalizeState(record.node.state.name)));
}

/** Reads within one scope. */
export class IssueReads {
  readonly #client: LinearClient;
  readonly #scope: LinearScope;
  readonly #pages = new PageSize();
  /** Ids that can't be Linear's and that it has refused; no such issue is visible. */
  readonly #unusable = new Set<string>();

  readonly #terminalStates: readonly string[];

  constructor(client: LinearClient, scope: LinearScope, terminalStates: readonly string[]) {
    this.#client = client;
    this.#scope = scope;
    this.#terminalStates = terminalStates;
  }

  /** Every visible issue of the scope in one of the states. */
  async byStates(names: readonly string[], lane: Lane, signal?: AbortSignal): Promise<readonly ReadIssue[]> {
    const states = distinctStates(names);
    if (states.length === 0) return [];
    return inStates(visible(await this.#list(states, lane, { signal, first: null })), states);
  }

  /** Every visible issue of the scope with one of the ids. */
  async byIds(ids: readonly string[], lane: Lane, signal?: AbortSignal): Promise<readonly ReadIssue[]> {
    const found = await this.#readIds(this.#scope, ids, lane, signal);
    return [...found, ...(await this.#endedOutsideView(ids, found, signal))];
  }

  /**
   * A view that shows open issues alone loses one that ends, but an ended issue is not a vanished one: those that the view no longer
   * shows are looked for without it, and count when they are in a terminal state.
   */
  async #endedOutsideView(
    ids: readonly string[],
    found: readonly ReadIssue[],
    signal?: AbortSignal,
  ): Promise<readonly ReadIssue[]> {
    if (this.#scope.view === null) return [];
    const seen = new Set(found.map((record) => (record.ok ? record.node.id : record.id)));
    const missing = ids.filter((id) => !seen.has(id));
    const outside = await this.#readIds({ ...this.#scope, view: null }, missing, "refresh", signal);
    return inStates(outside, this.#terminalStates).filter((record) => record.ok);
  }

  async #readIds(
    scope: LinearScope,
    ids: readonly string[],
    lane: Lane,
    signal?: AbortSignal,
  ): Promise<readonly ReadIssue[]> {
    const { root, variables } = rootOf(scope);
    const document = issuesByIdDocument(root);
    const nodes: unknown[] = [];
    let left = this.usable(ids);
    const wanted = new Set(left);
    let next = lane;
    while (left.length > 0) {
      const batch = left.slice(0, this.#pages.batch());
      try {
        const data = await this.#client.query({
          document,
          variables: { ...variables, ...tracked(scope, batch), relations: RELATIONS_WITH_ISSUE },
          lane: next,
          signal,
        });
        // A read that has begun must come to its end.
        next = "refresh";
        nodes.push(...wholePage(readPage(data, "tracked")).nodes);
        left = left.slice(batch.length);
      } catch (error) {
        left = this.#afterRefusal(error, left, batch);
      }
    }
    return ofIds(visible(nodes), wanted);
  }

  /** Candidates and tracked issues; one request while both fit on a page. */
  async tick(query: TickQuery, lane: Lane, signal?: AbortSignal): Promise<TickRecords> {
    const names = distinctStates(query.states);
    const wanted = this.usable(query.ids);
    if (names.length === 0) return { candidates: [], tracked: await this.byIds(wanted, lane, signal) };
    if (wanted.length === 0) return { candidates: await this.byStates(names, lane, signal), tracked: [] };
    const batch = wanted.slice(0, this.#pages.batch());
    const asked = this.#pages.first(names);
    let data: unknown;
    try {
      data = await this.#sendTick({ states: names, ids: batch }, asked, { lane, signal });
    } catch (error) {
      if (!this.#pages.shrink(error, asked) && reasonOf(error) !== "invalid_input") throw error;
      // Too complex together, or an id that Linear can't read: the two separate reads know what to do about either.
      const candidates = await this.byStates(names, "refresh", signal);
      return { candidates, tracked: await this.byIds(wanted, "refresh", signal) };
    }
    const first = readPage(data, "candidates");
    const found = ofIds(visible(wholePage(readPage(data, "tracked")).nodes), new Set(batch));
    const ended = await this.#endedOutsideView(batch, found, signal);
    const candidates = await this.#list(names, "refresh", { signal, first });
    const rest = await this.byIds(wanted.slice(batch.length), "refresh", signal);
    return { candidates: inStates(visible(candidates), names), tracked: [...found, ...ended, ...rest] };
  }

  #sendTick({ states, ids }: TickQuery, first: number, options: ReadOptions): Promise<unknown> {
    const { root, variables } = rootOf(this.#scope);
    return this.#client.query({
      document: tickDocument(root),
      variables: {
        ...variables,
        ...tracked(this.#scope, ids),
        filter: candidateFilter(this.#scope, states),
        first,
        relations: RELATIONS_WITH_ISSUE,
      },
      ...options,
    });
  }

  /** The pages of a list, the first of which may be there already. */
  async #list(
    states: readonly string[],
    lane: Lane,
    { signal, first }: { readonly signal: AbortSignal | undefined; readonly first: Page | null },
  ): Promise<unknown[]> {
    const { root, variables } = rootOf(this.#scope);
    const document = candidatesDocument(root);
    const filter = candidateFilter(this.#scope, states);
    let next = lane;
    const page = async (after: string | null): Promise<Page> => {
      for (;;) {
        const asked = after === null ? this.#pages.first(states) : this.#pages.further();
        try {
          const data = await this.#client.query({
            document,
            variables: { ...variables, filter, first: asked, after, relations: RELATIONS_WITH_ISSUE },
            lane: next,
            signal,
          });
          next = "refresh";
          return readPage(data, "candidates");
        } catch (error) {
          if (!this.#pages.shrink(error, asked)) throw error;
        }
      }
    };
    const nodes = await readAllPages(page, first);
    this.#pages.saw(states, nodes.length);
    return nodes;
  }

  /** What of `left` is still to be asked after a refused batch. An id that can't be one of Linear's makes it refuse the batch whole. */
  #afterRefusal(error: unknown, left: readonly string[], batch: readonly string[]): string[] {
    if (this.#pages.shrink(error, batch.length)) return [...left];
    const odd = batch.filter((id) => !UUID.test(id));
    if (reasonOf(error) !== "invalid_input" || odd.length === 0) throw error;
    for (const id of odd) this.#unusable.add(id);
    return this.usable(left);
  }

  /** Distinct ids that may be asked for. */
  usable(ids: readonly string[]): string[] {
    return [...new Set(ids)].filter((id) => !this.#unusable.has(id));
  }
}

function tracked(scope: LinearScope, ids: readonly string[]): Readonly<Record<string, unknown>> {
  return { ...idVariables(scope, ids), tracked: ids.length };
}

/** A page that must be the only one. */
export function wholePage(page: Page): Page {
  if (page.endCursor === null) return page;
  throw new AppError("tracker_pagination", "Linear answered a batch of ids in pages", { retryable: true });
}

/** Only what was asked for, by id: Linear also answers to identifiers. A record without an id could be any of them. */
export function ofIds(records: readonly ReadIssue[], ids: ReadonlySet<string>): ReadIssue[] {
  return records.filter((record) => {
    const id = record.ok ? record.node.id : record.id;
    return id === null || ids.has(id);
  });
}
