/** Dynamic tools: what the daemon offers to an agent and executes itself. */
import type { Issue, JsonValue } from "./issue.ts";

/** A tool as declared to the agent, once per session. */
export interface ToolSpec {
  /** Matches `^[a-zA-Z0-9_-]+$` (the app-server refuses others). */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: { readonly [key: string]: JsonValue };
}

/** What every call runs with besides its arguments. */
export interface ToolContext {
  /** The run's issue as last seen. */
  readonly issue: Issue;
  /** Aborts when the call's time is up or the run ends. */
  readonly signal: AbortSignal;
}

/** `text` is what the model reads, on failure too: the app-server shows it no error mark. */
export interface ToolResult {
  readonly success: boolean;
  readonly text: string;
}

export interface Tool extends ToolSpec {
  /** Whether a call with these arguments can change something: such calls are audited before they run. */
  canChange(args: unknown): boolean;
  /** Never throws for a bad argument or a failed request: that is a result with `success: false`. */
  call(args: unknown, context: ToolContext): Promise<ToolResult>;
}
