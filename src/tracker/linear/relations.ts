/** The relations that did not come with their issue: read on, for those issues alone. */
import { AppError } from "../../domain/errors.ts";
import type { Lane } from "./budget.ts";
import type { LinearClient } from "./client.ts";
import { MORE_RELATIONS_DOCUMENT, RELATIONS_BATCH, RELATIONS_DOCUMENT, RELATIONS_MORE } from "./documents.ts";
import type { IssueNode, RelationNode } from "./records.ts";
import { nextCursor, readMoreRelations, readRelationsById } from "./records.ts";

export interface ReadOptions {
  readonly lane: Lane;
  readonly signal?: AbortSignal | undefined;
}

/** Every inverse relation of each node, by issue id. No request where all came with the issues. */
export async function completeRelations(
  client: LinearClient,
  nodes: readonly IssueNode[],
  options: ReadOptions,
): Promise<ReadonlyMap<string, readonly RelationNode[]>> {
  const complete = new Map<string, readonly RelationNode[]>(
    nodes.map((node) => [node.id, node.inverseRelations.nodes]),
  );
  const cut = [...new Set(nodes.filter((node) => node.inverseRelations.pageInfo.hasNextPage).map((node) => node.id))];
  for (let from = 0; from < cut.length; from += RELATIONS_BATCH) {
    const ids = cut.slice(from, from + RELATIONS_BATCH);
    const variables = { ids, first: ids.length, relations: RELATIONS_MORE };
    const pages = readRelationsById(await client.query({ document: RELATIONS_DOCUMENT, variables, ...options }));
    for (const id of ids) {
      const page = pages.get(id);
      if (page === undefined) {
        throw new AppError("tracker_response", `issue ${id} went away while its relations were read`, {
          retryable: true,
        });
      }
      const cursor = nextCursor(page.pageInfo, "relations");
      complete.set(id, [...page.nodes, ...(await readOn(client, id, { ...options, cursor }))]);
    }
  }
  return complete;
}

async function readOn(
  client: LinearClient,
  id: string,
  { cursor, ...options }: ReadOptions & { readonly cursor: string | null },
): Promise<RelationNode[]> {
  const nodes: RelationNode[] = [];
  const seen = new Set<string>();
  let after = cursor;
  while (after !== null && !seen.has(after)) {
    seen.add(after);
    const variables = { id, relations: RELATIONS_MORE, after };
    const page = readMoreRelations(await client.query({ document: MORE_RELATIONS_DOCUMENT, variables, ...options }));
    nodes.push(...page.nodes);
    after = nextCursor(page.pageInfo, "relations");
  }
  if (after === null) return nodes;
  throw new AppError("tracker_pagination", `the relations of issue ${id} have no end`, { retryable: true });
}
