/** What the API answers, as types of its own schemas: nothing of the daemon is loaded into the browser. */
import type { z } from "zod";
import type {
  daysSchema,
  eventsSchema,
  historySchema,
  runDetailSchema,
  runsSchema,
  usageSchema,
} from "../http/schemas/history.ts";
import type { issueSchema, stateSchema } from "../http/schemas/state.ts";
import type { explanationSchema, issuesSchema } from "../http/schemas/tickets.ts";

export type Snapshot = z.output<typeof stateSchema>;
export type RunningRow = Snapshot["running"][number];
export type WaitingRow = Snapshot["retrying"][number];
export type BlockedRow = Snapshot["blocked"][number];
export type Question = NonNullable<BlockedRow["question"]>;
export type Tickets = z.output<typeof issuesSchema>;
export type Ticket = Tickets["issues"][number];
export type Claimed = z.output<typeof issueSchema>;
export type Explanation = z.output<typeof explanationSchema>;
export type Runs = z.output<typeof runsSchema>;
export type Run = Runs["runs"][number];
export type RunDetail = z.output<typeof runDetailSchema>;
export type RunEvents = z.output<typeof eventsSchema>;
export type RunEvent = RunEvents["events"][number];
export type History = z.output<typeof historySchema>;
export type Days = z.output<typeof daysSchema>["days"];
export type Usage = z.output<typeof usageSchema>;
