/** Walking a list's pages to its end: the whole list, or an error. */
import { AppError } from "../../domain/errors.ts";
import { reasonOf } from "./failures.ts";
import type { Page } from "./records.ts";

/** 200 pages of 50 are more issues than one daemon can want; a server that never ends its list is stopped here. */
const MAX_PAGES = 200;

function paginationError(problem: string, cause?: unknown): AppError {
  return new AppError(
    "tracker_pagination",
    `Linear's list of issues can't be read to its end: ${problem}`,
    { retryable: true },
    { cause },
  );
}

/** Marks a cursor that Linear no longer knows, because its issue has gone. */
class LostCursor extends Error {}

async function walk(readPage: (after: string | null) => Promise<Page>, first: Page | null): Promise<unknown[]> {
  const nodes: unknown[] = [];
  const seen = new Set<string>();
  let page = first ?? (await readPage(null));
  for (;;) {
    nodes.push(...page.nodes);
    const cursor = page.endCursor;
    if (cursor === null) return nodes;
    if (seen.has(cursor)) throw paginationError("a cursor came back a second time");
    if (seen.size + 1 >= MAX_PAGES) throw paginationError(`it has more than ${MAX_PAGES} pages`);
    seen.add(cursor);
    try {
      page = await readPage(cursor);
    } catch (error) {
      if (reasonOf(error) === "invalid_input") throw new LostCursor("the cursor was refused", { cause: error });
      throw error;
    }
  }
}

/**
 * All nodes. `first` is a first page that is already there. An issue that goes while the list is read makes its cursor unusable: the
 * list is then read once more from its start. Any other failure of any page fails the whole.
 */
export async function readAllPages(
  readPage: (after: string | null) => Promise<Page>,
  first: Page | null = null,
): Promise<unknown[]> {
  try {
    return await walk(readPage, first);
  } catch (error) {
    if (!(error instanceof LostCursor)) throw error;
  }
  try {
    return await walk(readPage, null);
  } catch (error) {
    throw error instanceof LostCursor ? paginationError("a cursor was refused twice", error.cause) : error;
  }
}
