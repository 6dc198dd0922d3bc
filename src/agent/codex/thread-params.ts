/** The parameters of thread/start, thread/resume and turn/start for one session. */
import type { SessionRequest, TurnRequest } from "../port.ts";
import { approvalPolicy, threadConfig, threadSandbox } from "./policy.ts";
import type { ThreadParams, ThreadResumeParams, ThreadStartParams, TurnStartParams, UserInput } from "./protocol.ts";
import { cutAt } from "./reading.ts";

/** The app-server takes no more text per turn (`input_too_large` above it). */
const MAX_INPUT_CHARS = 1_048_576;
const SERVICE_NAME = "symphony";

function threadParams({ settings, workspacePath }: SessionRequest, temporary: string | null): ThreadParams {
  const { approvalsReviewer } = settings.codex;
  return {
    cwd: workspacePath,
    approvalPolicy: approvalPolicy(settings),
    sandbox: threadSandbox(settings),
    config: threadConfig(settings, workspacePath, temporary),
    ...(approvalsReviewer === null ? {} : { approvalsReviewer }),
  };
}

/** What a thread is opened with besides what its request says. */
export interface ThreadExtras {
  /** The session's own, and what an untrusted repository's AGENTS.md says; null where there is neither. */
  readonly developerInstructions: string | null;
  /** As in `threadConfig`. */
  readonly temporary: string | null;
}

export function threadStartParams(
  request: SessionRequest,
  { developerInstructions, temporary }: ThreadExtras,
): ThreadStartParams {
  const { tools } = request;
  return {
    ...threadParams(request, temporary),
    serviceName: SERVICE_NAME,
    ...(developerInstructions === null ? {} : { developerInstructions }),
    // Even an empty list needs the experimental capability.
    ...(tools.length === 0 ? {} : { dynamicTools: tools.map((tool) => ({ type: "function", ...tool }) as const) }),
  };
}

/** The thread keeps its tools and instructions by itself; dynamicTools would be ignored. */
export function threadResumeParams(
  request: SessionRequest,
  threadId: string,
  temporary: string | null,
): ThreadResumeParams {
  return { ...threadParams(request, temporary), threadId, excludeTurns: true };
}

export interface TurnParamsInput {
  readonly session: SessionRequest;
  readonly threadId: string;
  readonly turn: TurnRequest;
  readonly sandboxPolicy: unknown;
}

export function turnStartParams({ session, threadId, turn, sandboxPolicy }: TurnParamsInput): TurnStartParams {
  return {
    threadId,
    input: [textInput(turn.prompt), ...(turn.images ?? []).map((path) => ({ type: "localImage", path }) as const)],
    cwd: session.workspacePath,
    approvalPolicy: approvalPolicy(session.settings),
    sandboxPolicy,
    clientUserMessageId: turn.intentId,
    ...(turn.model === undefined ? {} : { model: turn.model }),
    ...(turn.effort === undefined ? {} : { effort: turn.effort }),
  };
}

/** A text as input, cut with a note where it is longer than a turn can take. */
export function textInput(text: string): UserInput {
  return { type: "text", text: fitInput(text), text_elements: [] };
}

/** UTF-16 units are never fewer than the characters that the app-server counts, so the cut is safe. */
function fitInput(text: string): string {
  if (text.length <= MAX_INPUT_CHARS) return text;
  const note = `\n\n[The rest was left out: the text has ${text.length} characters, and a turn takes ${MAX_INPUT_CHARS}.]`;
  return cutAt(text, MAX_INPUT_CHARS - note.length) + note;
}
