/** Mutations whose answer was lost: whether they were carried out is looked up, and the same call is sent as it was. */
import { createHash } from "node:crypto";

import { print } from "graphql/language";
import { z } from "zod";

import type { AppError } from "../../domain/errors.ts";
import { reasonOf } from "./failures.ts";
import type { FixedCall, FixedId } from "./fixed-ids.ts";
import type { Operation } from "./operation.ts";
import type { Lookup } from "./ownership.ts";

/** How to see whether a thing is there; Linear has no query for a single reaction. */
const MADE_DOCUMENTS: Readonly<Record<FixedId["mutation"], string | null>> = {
  commentCreate: "query SymphonyMadeComment($id: String!) { made: comment(id: $id) { id } }",
  issueCreate: "query SymphonyMadeIssue($id: String!) { made: issue(id: $id) { id } }",
  issueRelationCreate: "query SymphonyMadeRelation($id: String!) { made: issueRelation(id: $id) { id } }",
  reactionCreate: null,
};

/** The documents, for their check against the schema. */
export const LOOKUP_DOCUMENTS: readonly string[] = Object.values(MADE_DOCUMENTS).filter((text) => text !== null);

const madeShape = z.object({ made: z.object({ id: z.string() }) });

/** Whether Linear may have carried out a request that ended like this. */
export function isInDoubt(failure: AppError): boolean {
  const reason = reasonOf(failure);
  return failure.code === "tracker_request" || reason === "server" || reason === "unreadable" || reason === "shape";
}

/** Which of the things are there. Throws AppError where Linear can't be asked. */
export async function findMade(fixed: readonly FixedId[], lookup: Lookup): Promise<readonly FixedId[]> {
  const made: FixedId[] = [];
  for (const thing of fixed) {
    const document = MADE_DOCUMENTS[thing.mutation];
    if (document !== null && (await exists(document, thing.id, lookup))) made.push(thing);
  }
  return made;
}

async function exists(document: string, id: string, lookup: Lookup): Promise<boolean> {
  try {
    return madeShape.safeParse(await lookup(document, { id })).success;
  } catch (error) {
    if (reasonOf(error) === "invalid_input") return false;
    throw error;
  }
}

/** Calls in doubt; the oldest are forgotten beyond this many. */
const MAX_DOUBTFUL = 200;

/** Calls by what they say: one that comes again for the same issue gets the ids that it had. */
export class DoubtfulCalls {
  readonly #calls = new Map<string, FixedCall>();

  /** The call as it was sent before, or null. */
  recall(key: string): FixedCall | null {
    return this.#calls.get(key) ?? null;
  }

  /** The answer was lost: it may have been carried out or not. */
  note(key: string, call: FixedCall): void {
    if (call.fixed.length === 0) return;
    this.#calls.set(key, call);
    if (this.#calls.size <= MAX_DOUBTFUL) return;
    for (const oldest of this.#calls.keys()) {
      this.#calls.delete(oldest);
      return;
    }
  }

  /** An answer has come: the next call like it means something new. */
  settle(key: string): void {
    this.#calls.delete(key);
  }
}

/** Equal for calls that say the same, however they are laid out. */
export function callKey(issueId: string, operation: Operation, variables: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify([issueId, print(operation.document), variables]);
  return createHash("sha256").update(text).digest("base64");
}
