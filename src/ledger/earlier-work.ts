/** What an issue's ended runs did, as far as it was kept: for an agent that goes on without their thread. */
import type { IssueId } from "../domain/ids.ts";
import type { Connection } from "./database.ts";

/** Agents' texts are untrusted, and as they were kept. */
export interface EarlierWork {
  /** Ended runs that started a turn. */
  readonly runs: number;
  readonly turns: number;
  /** The newest of them. */
  readonly lastTurn: { readonly turn: number; readonly status: string; readonly error: string | null } | null;
  /** The newest things that the agent said, oldest first. */
  readonly messages: readonly string[];
  /** Dynamic tools by how often they were called, the most first. */
  readonly tools: readonly { readonly name: string; readonly calls: number; readonly failed: number }[];
}

/** Final messages sum up what was done; more of them would fill the fresh thread with the old one. */
const MESSAGES = 5;

const ENDED_TURNS = `
  FROM turns AS t JOIN runs AS r USING (run_id)
  WHERE r.issue_id = ? AND r.ended_at IS NOT NULL AND t.turn_id IS NOT NULL`;

type LastTurn = NonNullable<EarlierWork["lastTurn"]>;

export function prepareEarlierWork(db: Connection): (issueId: IssueId) => EarlierWork {
  const sums = db.prepare<[string], { runs: number; turns: number }>(
    `SELECT count(DISTINCT r.run_id) AS runs, count(*) AS turns ${ENDED_TURNS}`,
  );
  const last = db.prepare<[string], LastTurn>(
    `SELECT t.turn, COALESCE(t.status, 'interrupted') AS status, t.error ${ENDED_TURNS}
     ORDER BY r.started_at DESC, r.rowid DESC, t.turn DESC LIMIT 1`,
  );
  const messages = db
    .prepare<[string], string>(
      `SELECT json_extract(e.data, '$.text')
       FROM event_runs AS n CROSS JOIN runs AS r ON r.run_id = n.run_id CROSS JOIN events AS e ON e.run = n.number
       WHERE n.issue_id = ? AND e.event = 'message' AND e.data IS NOT NULL AND r.ended_at IS NOT NULL
       ORDER BY n.number DESC, e.id DESC LIMIT ${MESSAGES}`,
    )
    .pluck();
  const tools = db.prepare<[string], { name: string; calls: number; failed: number }>(
    `SELECT c.name, count(*) AS calls, SUM(c.ok IS 0) AS failed FROM tool_calls AS c JOIN runs AS r USING (run_id)
     WHERE r.issue_id = ? AND r.ended_at IS NOT NULL GROUP BY c.name ORDER BY calls DESC, c.name`,
  );
  return (issueId) => ({
    ...(sums.get(issueId) ?? { runs: 0, turns: 0 }),
    lastTurn: last.get(issueId) ?? null,
    messages: messages.all(issueId).toReversed(),
    tools: tools.all(issueId),
  });
}
