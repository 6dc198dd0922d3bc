/** Where a benchmark's tickets are: the local board, or the local Linear of test/fakes/linear. */
import { startLinearServer } from "../test/fakes/linear/server.ts";
import { type Product, twoBusyTurns } from "./product.ts";

/** Tickets of one daemon. Ends what it needs when it is disposed. */
export interface TicketSource extends AsyncDisposable {
  readonly name: string;
  /** Writes the workflow file. */
  configure(product: Product, sections: Readonly<Record<string, unknown>>): void;
  /** What the daemon needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
  add(product: Product, count: number): void;
  /** Requests that the daemon's own reads took; null where a read is no request. */
  reads(): number | null;
}

export function localBoard(): Promise<TicketSource> {
  const move = { tool: "local_board", arguments: { action: "move", state: "Done" } };
  return Promise.resolve({
    name: "local",
    configure: (product, sections) => product.configure(sections, twoBusyTurns(move)),
    env: {},
    add: (product, count) => product.addTickets(count),
    reads: () => null,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

const MOVE =
  "mutation Move($id: String!, $state: String!) { issueUpdate(id: $id, input: { stateId: $state }) { success } }";

export async function localLinear(): Promise<TicketSource> {
  const server = await startLinearServer();
  const { board } = server;
  const done = board.state(board.team("ENG").id, "Done").id;
  const move = { tool: "linear_graphql", arguments: { query: MOVE, variables: { id: "{{ticket}}", state: done } } };
  const tracker = { kind: "linear", provider: { endpoint: server.url, project_slug: "demo" } };
  return {
    name: "linear",
    configure: (product, sections) => product.configure({ tracker, ...sections }, twoBusyTurns(move)),
    env: { LINEAR_API_KEY: server.apiKey },
    add: (_product, count) => {
      for (let n = 0; n < count; n += 1) board.createIssue({ title: `Ticket ${n}`, description: "Do it." });
    },
    // The agents' own calls are mutations.
    reads: () => server.requests.filter(({ kind }) => kind === "query").length,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
