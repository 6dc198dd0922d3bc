/** Runs the agent's dynamic tool calls: bound to a session, time-boxed, capped and audited. */
import { errorMessage } from "../domain/errors.ts";
import type { Issue } from "../domain/issue.ts";
import type { Tool, ToolResult } from "../domain/tool.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

/** A call's time; a tracker that takes longer is down. */
const CALL_TIMEOUT_MS = 120_000;
/** What a model can use of an answer (measured: it is shown about 12 to 48 kB); the rest only bloats the thread. */
const TEXT_LIMIT = 48 * 1024;

/** Where the audit goes; the ledger in production. Called in this order: intent before a call that can change something, end always. */
export interface ToolAudit {
  toolIntended(call: { readonly callId: string; readonly name: string }): void;
  toolEnded(call: ToolCallEnd): void;
}

export interface ToolCallEnd {
  readonly callId: string;
  readonly name: string;
  readonly ok: boolean;
  readonly durationMs: number;
  readonly bytes: number;
}

export interface ToolRunnerDeps {
  readonly tools: readonly Tool[];
  readonly audit: ToolAudit;
  readonly clock: Clock;
  readonly log: Log;
  /** The run's issue as last seen. */
  issue(): Issue;
  /** Ends with the run. */
  readonly signal: AbortSignal;
}

/** Executes one call of one session. Never rejects: whatever goes wrong is a result that the model can read. */
export type ToolRunner = (name: string, callId: string, args: unknown) => Promise<ToolResult>;

export function createToolRunner(deps: ToolRunnerDeps): ToolRunner {
  const byName = new Map(deps.tools.map((tool) => [tool.name, tool]));
  return async (name, callId, args) => {
    const tool = byName.get(name);
    if (tool === undefined) {
      return refusal("unknown_tool", `no tool named ${name}; there are: ${[...byName.keys()].join(", ")}`);
    }
    const startedAt = deps.clock.now();
    let result: ToolResult;
    try {
      deps.audit.toolIntended({ callId, name });
      result = capText(await callInTime(tool, args, deps));
    } catch (error) {
      result = refusal("tool_failed", errorMessage(error));
    }
    noteEnd(deps, {
      callId,
      name,
      ok: result.success,
      durationMs: deps.clock.now() - startedAt,
      bytes: Buffer.byteLength(result.text),
    });
    return result;
  };
}

/** The call has happened, so its answer is the agent's, written down or not; an end that wasn't is "in doubt" for the next run. */
function noteEnd({ audit, log }: ToolRunnerDeps, end: ToolCallEnd): void {
  try {
    audit.toolEnded(end);
  } catch (error) {
    log.warn({ err: error, tool: end.name, call_id: end.callId }, "recording the end of a tool call failed");
  }
}

function refusal(code: string, message: string): ToolResult {
  return { success: false, text: JSON.stringify({ error: { code, message } }) };
}

async function callInTime(tool: Tool, args: unknown, deps: ToolRunnerDeps): Promise<ToolResult> {
  const timeout = new AbortController();
  const timer = deps.clock.setTimer(CALL_TIMEOUT_MS, () =>
    timeout.abort(new Error(`no answer within ${CALL_TIMEOUT_MS} ms`)),
  );
  const signal = AbortSignal.any([timeout.signal, deps.signal]);
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void =>
    aborted.reject(signal.reason instanceof Error ? signal.reason : new Error("the run ended"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([tool.call(args, { issue: deps.issue(), signal }), aborted.promise]);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Cuts an answer that is too long, and says how to get less. */
function capText(result: ToolResult): ToolResult {
  if (result.text.length <= TEXT_LIMIT) return result;
  const note = `\n[cut: ${result.text.length} characters; ask for fewer fields, fewer rows or one page at a time]`;
  return { ...result, text: result.text.slice(0, TEXT_LIMIT) + note };
}
