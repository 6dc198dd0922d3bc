/** Relay paging as Linear does it: a cursor is a row's id, 50 rows unless asked, at most 250. */
import { ArgumentValidationError } from "./filter.ts";

export interface PageArgs {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

export interface Connection<Node> {
  readonly nodes: readonly Node[];
  readonly edges: readonly { readonly node: Node; readonly cursor: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

const DEFAULT_PAGE = 50;
const MAX_PAGE = 250;

/** A row that vanished since it was a cursor makes the cursor invalid. */
function indexOfCursor(rows: readonly { readonly id: string }[], cursor: string): number {
  const index = rows.findIndex((row) => row.id === cursor);
  if (index === -1) throw new ArgumentValidationError(`invalid cursor: ${cursor}`);
  return index;
}

/** Cuts one page out of `rows`, which are complete and in order. */
export function connect<Row extends { readonly id: string }, Node>(
  rows: readonly Row[],
  args: PageArgs,
  toNode: (row: Row) => Node,
): Connection<Node> {
  const size = args.first ?? args.last ?? DEFAULT_PAGE;
  if (size > MAX_PAGE || size < 0) throw new ArgumentValidationError(`first must not be greater than ${MAX_PAGE}`);
  const { after = null, before = null, last = null } = args;
  const from = after === null ? 0 : indexOfCursor(rows, after) + 1;
  const to = before === null ? rows.length : indexOfCursor(rows, before);
  const within = rows.slice(from, to);
  const page = last === null ? within.slice(0, size) : within.slice(-size);
  const edges = page.map((row) => ({ node: toNode(row), cursor: row.id }));
  const end = page.at(-1);
  return {
    nodes: edges.map((edge) => edge.node),
    edges,
    pageInfo: {
      hasNextPage: last === null && within.length > size,
      hasPreviousPage: from > 0,
      startCursor: page.at(0)?.id ?? null,
      endCursor: end?.id ?? null,
    },
  };
}
