/** The configured scope and the states as Linear's filters. */
import { normalizeState } from "../../domain/issue.ts";
import type { IssueRoot } from "./documents.ts";
import type { LinearScope } from "./provider.ts";

/** A filter as it travels in variables. */
export type IssueFilter = Readonly<Record<string, unknown>>;

/** `name-<12 hex digits>` is how a project's address ends; the filter knows the digits alone, or the whole in older files. */
const SLUG_WITH_NAME = /-([0-9a-f]{12})$/;

function projectFilter(slug: string): IssueFilter {
  const digits = SLUG_WITH_NAME.exec(slug)?.[1];
  return { project: { slugId: digits === undefined ? { eq: slug } : { in: [slug, digits] } } };
}

function scopeFilters(scope: LinearScope): IssueFilter[] {
  return [
    ...(scope.projectSlug === null ? [] : [projectFilter(scope.projectSlug)]),
    ...(scope.team === null ? [] : [{ team: { key: { eq: scope.team } } }]),
    ...scope.labels.map((label) => ({ labels: { some: { name: { eqIgnoreCase: label } } } })),
  ];
}

/** Scope and states. Each branch of an `or` has one key, since Linear takes several keys of a branch as alternatives. */
export function candidateFilter(scope: LinearScope, states: readonly string[]): IssueFilter {
  return { and: [...scopeFilters(scope), { or: states.map((name) => ({ state: { name: { eqIgnoreCase: name } } })) }] };
}

/** The variables that list issues by id within the scope. */
export function idVariables(scope: LinearScope, ids: readonly string[]): Readonly<Record<string, unknown>> {
  return { scope: scopeFilters(scope), ids };
}

/** Scope, and changed at or after an instant. */
export function changedFilter(scope: LinearScope, since: string): IssueFilter {
  return { and: [...scopeFilters(scope), { updatedAt: { gte: since } }] };
}

/** Filters of workflow states: the named ones, and all, of the scope's team or of every team. */
export function stateFilters(
  scope: LinearScope,
  names: readonly string[],
): { readonly named: IssueFilter; readonly all: IssueFilter } {
  const team = scope.team === null ? [] : [{ team: { key: { eq: scope.team } } }];
  const branches = distinctStates(names).map((name) => ({ name: { eqIgnoreCase: name } }));
  return { named: { and: [...team, { or: branches }] }, all: { and: team } };
}

/** Trimmed, without blanks and without repeats that differ by case: an empty `or` would constrain nothing. */
export function distinctStates(names: readonly string[]): string[] {
  const byKey = new Map<string, string>();
  for (const name of names) {
    const key = normalizeState(name);
    if (key !== "" && !byKey.has(key)) byKey.set(key, name.trim());
  }
  return [...byKey.values()];
}

/** Where the scope's issues are listed, and the variable that goes with it. */
export function rootOf(scope: LinearScope): { readonly root: IssueRoot; readonly variables: IssueFilter } {
  return scope.view === null ? { root: "workspace", variables: {} } : { root: "view", variables: { view: scope.view } };
}
