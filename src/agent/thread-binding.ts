/** What an agent's thread rests on: kept beside its id, and compared before the thread is resumed. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { JsonValue } from "../domain/issue.ts";
import type { ToolSpec } from "../domain/tool.ts";

/** Null is unknown, and fits anything. */
const schema = z.object({
  /** The workspace that the thread works in. */
  cwd: z.string(),
  /** Where the agent keeps its threads. */
  home: z.string().nullable(),
  modelProvider: z.string().nullable(),
  /** What the thread works with unless a run asks for another. */
  model: z.string().nullable(),
  effort: z.string().nullable(),
  /** Of the agent that worked on it last. */
  agentVersion: z.string().nullable(),
  /** See {@link toolsKey}. */
  tools: z.string(),
});

export type ThreadBinding = Readonly<z.output<typeof schema>>;

/** Null for what an older version kept, or can't be read: it says nothing against the thread. */
export function parseBinding(kept: JsonValue): ThreadBinding | null {
  const parsed = schema.safeParse(kept);
  return parsed.success ? parsed.data : null;
}

/** Names and schemas of tools in a short string: a thread keeps the tools that it was made with (field note P16). */
export function toolsKey(tools: readonly ToolSpec[]): string {
  const parts = tools.map(({ name, inputSchema }) => JSON.stringify([name, inputSchema])).toSorted();
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);
}

/** Why a thread that rests on `kept` can't be gone on with, in words; null: it can. */
export function misfit(
  kept: ThreadBinding,
  now: Pick<ThreadBinding, "cwd" | "home" | "modelProvider" | "tools">,
): string | null {
  if (kept.cwd !== now.cwd) return `its workspace was ${kept.cwd} and is ${now.cwd} now`;
  const home = difference(kept.home, now.home);
  if (home !== null) return `the agent's home was ${home} now`;
  const provider = difference(kept.modelProvider, now.modelProvider);
  if (provider !== null) return `the model provider was ${provider} now`;
  return kept.tools === now.tools ? null : "the tools that it was made with are others now";
}

function difference(before: string | null, now: string | null): string | null {
  return before === null || now === null || before === now ? null : `${before} and is ${now}`;
}
