/** How many issues a page asks for: Linear charges for the rows that are asked for, and each further page is a request. */
import { ID_BATCH, ISSUE_PAGE } from "./documents.ts";
import { reasonOf } from "./failures.ts";

/** With fifty tracked issues beside it, this is 8,060 points; Linear's cap for one query is 10,000. */
const LARGEST_PAGE = 200;
/** A page this small that is still too complex is no matter of its size. */
const SMALLEST_PAGE = 5;
/** Room for what has come since the list was read last, in steps, so that a page isn't cut for every new issue. */
const ROOM = 5;
const STEP = 10;

export class PageSize {
  /** Shrinks for good when Linear finds a page too complex. */
  #largest = LARGEST_PAGE;
  /** How long the list of these states was. */
  readonly #lengths = new Map<string, number>();

  /** The first page of a list: somewhat more than it held last time, so that it comes in one request and costs little more than it must. */
  first(states: readonly string[]): number {
    const length = this.#lengths.get(keyOf(states));
    if (length === undefined) return Math.min(this.#largest, ISSUE_PAGE);
    const wanted = Math.ceil((length + ROOM) / STEP) * STEP;
    // A board that fits a usual page is read whole at each tick, so there a row more costs the most.
    const most = length <= ISSUE_PAGE ? ISSUE_PAGE : LARGEST_PAGE;
    return Math.min(this.#largest, most, wanted);
  }

  /** Further pages of a list that turned out to be long. */
  further(): number {
    return this.#largest;
  }

  /** Ids of one batch. */
  batch(): number {
    return Math.min(this.#largest, ID_BATCH);
  }

  /** Notes how long a list was. */
  saw(states: readonly string[], length: number): void {
    this.#lengths.set(keyOf(states), length);
  }

  /** After "too complex" for that many rows: halves them from now on, and says whether that is worth another try. */
  shrink(error: unknown, asked: number): boolean {
    const rows = Math.min(asked, this.#largest);
    if (reasonOf(error) !== "too_complex" || rows <= SMALLEST_PAGE) return false;
    this.#largest = Math.max(SMALLEST_PAGE, Math.floor(rows / 2));
    return true;
  }
}

function keyOf(states: readonly string[]): string {
  return states.join("\n");
}
