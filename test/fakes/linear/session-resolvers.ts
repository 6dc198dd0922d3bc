/** Mutations of agent sessions, which only an application may call. */
import { randomUUID } from "node:crypto";

import type { Board } from "./board.ts";
import { found } from "./board.ts";
import { ArgumentValidationError, isUuid } from "./filter.ts";
import type { SessionRow } from "./rows.ts";

type Urls = SessionRow["urls"];

interface ActivityInput {
  readonly id?: string | null;
  readonly agentSessionId: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly ephemeral?: boolean | null;
}

const DONE = { success: true, lastSyncId: 1 };
const KINDS = ["thought", "action", "elicitation", "response", "error"];

/** Mutation fields over one board. */
export function sessionMutations(board: Board): Readonly<Record<string, unknown>> {
  const demandApp = (): void => {
    if (!board.viewer().app) throw new ArgumentValidationError("only an application has agent sessions");
  };
  const session = (id: string): SessionRow => found(board.sessions.get(id), "AgentSession");
  return {
    agentSessionCreateOnIssue: ({ input }: { input: { issueId: string; externalUrls?: Urls | null } }) => {
      demandApp();
      const row = board.openSession(input.issueId);
      row.urls = input.externalUrls ?? [];
      return { ...DONE, agentSession: row };
    },
    agentSessionUpdate: ({ id, input }: { id: string; input: { plan?: unknown; addedExternalUrls?: Urls | null } }) => {
      demandApp();
      const row = session(id);
      row.urls = [...row.urls, ...(input.addedExternalUrls ?? [])];
      row.plan = input.plan ?? row.plan;
      return { ...DONE, agentSession: row };
    },
    agentActivityCreate: ({ input }: { input: ActivityInput }) => {
      demandApp();
      const { activities } = session(input.agentSessionId);
      const id = input.id ?? randomUUID();
      const taken = [...board.sessions.values()].some((row) => row.activities.some((activity) => activity.id === id));
      if (!isUuid(id) || taken) throw new ArgumentValidationError(`id: ${id}`);
      const kind = input.content["type"];
      if (typeof kind !== "string" || !KINDS.includes(kind)) throw new ArgumentValidationError("content.type");
      const row = { id, content: input.content, ephemeral: input.ephemeral ?? false };
      activities.push(row);
      return { ...DONE, agentActivity: row };
    },
  };
}
