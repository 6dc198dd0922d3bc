/** The Linear adapter's settings as the descriptor leaves them in `Settings.tracker.provider`. */
import { z } from "zod";

import { AppError } from "../../domain/errors.ts";

const credential = z.discriminatedUnion("kind", [
  /** A personal key or an OAuth access token; `source` says where it was written, for a warning about literal ones. */
  z.object({ kind: z.literal("token"), token: z.string(), source: z.enum(["environment", "literal"]) }),
  /** A file that holds a token, read again when Linear refuses the one that it held. */
  z.object({ kind: z.literal("file"), path: z.string() }),
  /** An OAuth application's own token, fetched and renewed by the daemon. */
  z.object({
    kind: z.literal("client"),
    clientId: z.string(),
    clientSecret: z.string(),
    tokenUrl: z.string(),
    scope: z.string(),
  }),
]);

const scope = z.object({
  projectSlug: z.string().nullable(),
  /** A team's key, upper case. */
  team: z.string().nullable(),
  /** An issue must carry all of them. */
  labels: z.array(z.string()),
  /** A custom view's id or slug. */
  view: z.string().nullable(),
});

const provider = z.object({
  endpoint: z.string(),
  credential,
  scope,
  /** A user id or `me`; null = anybody's issue may be dispatched. */
  assignee: z.string().nullable(),
  delegate: z.string().nullable(),
  toolMode: z.enum(["scoped", "open", "read"]),
  /** Whether runs are shown as agent sessions. */
  agentSessions: z.boolean(),
});

export type LinearCredential = z.infer<typeof credential>;
export type LinearScope = z.infer<typeof scope>;
export type LinearProvider = z.infer<typeof provider>;
export type ToolMode = LinearProvider["toolMode"];

/** Reads back what the descriptor has put into the settings; throws invalid_tracker_config for anything else. */
export function readProvider(value: Readonly<Record<string, unknown>>): LinearProvider {
  const parsed = provider.safeParse(value);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
  throw new AppError("invalid_tracker_config", `tracker.provider: not what the linear descriptor makes (${paths})`);
}
