/** Which agent thread an issue is bound to. */
import type { IssueId } from "../domain/ids.ts";
import type { JsonValue } from "../domain/issue.ts";
import { jsonSchema, parseRow } from "./claim-schema.ts";
import type { Connection } from "./database.ts";
import type { Ledger } from "./port.ts";
import { whole } from "./writer.ts";

/** Statements over thread bindings. Writes belong into a transaction of the caller's. */
export interface ThreadRows {
  bind(binding: Parameters<Ledger["bindThread"]>[0]): void;
  unbind(issueId: IssueId): void;
  binding(issueId: IssueId): { readonly threadId: string; readonly binding: JsonValue } | null;
}

export function prepareThreadRows(db: Connection): ThreadRows {
  const bind = db.prepare(
    `INSERT INTO threads (issue_id, thread_id, binding, bound_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (issue_id) DO UPDATE SET thread_id = excluded.thread_id, binding = excluded.binding,
       bound_at = excluded.bound_at`,
  );
  const unbind = db.prepare("DELETE FROM threads WHERE issue_id = ?");
  const select = db.prepare<[string], { thread_id: string; binding: string }>(
    "SELECT thread_id, binding FROM threads WHERE issue_id = ?",
  );
  return {
    bind({ issueId, threadId, binding, at }) {
      bind.run(issueId, threadId, JSON.stringify(binding), whole(at));
    },
    unbind(issueId) {
      unbind.run(issueId);
    },
    binding(issueId) {
      const row = select.get(issueId);
      if (row === undefined) return null;
      const binding = parseRow(jsonSchema, { table: "threads", key: issueId, data: row.binding });
      return { threadId: row.thread_id, binding };
    },
  };
}
