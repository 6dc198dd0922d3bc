/** What an agent is told: the rendered ticket on a fresh thread, and only guidance on a thread that knows the ticket already. */
import type { WaitReason } from "../domain/claim.ts";
import type { InboxItem } from "../domain/inbox.ts";
import type { Issue } from "../domain/issue.ts";
import type { EarlierWork } from "../ledger/earlier-work.ts";

/** Where a turn stands in its run. */
export interface TurnPosition {
  readonly turn: number;
  readonly maxTurns: number;
  readonly issue: Issue;
}

/** How the turn before ended: by itself, by a person, or in a full context that has been compacted since. */
export type LastTurn = "completed" | "interrupted" | "compacted";

const HOW_IT_ENDED: Readonly<Record<LastTurn, string>> = {
  completed: "The last turn completed",
  interrupted: "A person interrupted the last turn",
  compacted: "The last turn filled the context, which has been shortened to a summary: some details are gone from it",
};

export interface ContinuationNotes extends TurnPosition {
  readonly lastTurn: LastTurn;
}

/** Guidance for turn 2 and later on one thread (section 10): the ticket itself is in the thread already. */
export function continuationPrompt({ turn, maxTurns, issue, lastTurn }: ContinuationNotes): string {
  return [
    `Continue with ${issue.identifier}: turn ${turn} of ${maxTurns}.`,
    `${HOW_IT_ENDED[lastTurn]}, and the issue is still active, in state "${issue.state}".`,
    "Resume from the workspace as it is now; don't start over and don't repeat work that this thread already shows.",
    "End the turn when the issue has left its active states, or when nothing more can be done without a person.",
  ].join("\n");
}

const WHAT_HAPPENED: Readonly<Record<WaitReason, string>> = {
  dispatch: "The issue is being worked on again.",
  continuation: "The run before this one used all its turns, and the issue is still active.",
  failure: "The run before this one failed.",
  stalled: "The run before this one was stopped because it showed no sign of life.",
  timed_out: "The run before this one was stopped because a turn produced no output for too long.",
  usage_limit: "The run before this one met a usage limit, which is over now.",
  auth: "The run before this one could not log in, which is mended now.",
  day_budget: "The run before this one was interrupted because the day's budget was spent; a new day has begun.",
  shutdown: "The service was stopped in an orderly way while the run before this one was going on.",
  recovered: "The run before this one was cut off by a crash or a restart of the service.",
  operator_retry: "A person asked for another try.",
  unblocked: "The issue was blocked, and a person has changed it since.",
  answered: "A person has answered the open question.",
};

/** What is known of the run before, for whoever goes on. */
export interface HandoverNotes {
  readonly why: WaitReason;
  readonly error: string | null;
  /** Tool calls that were started and whose end nobody saw: they may or may not have happened. */
  readonly callsInDoubt: readonly string[];
  readonly work: EarlierWork;
  /** What the agent is told for this run beside the ticket; null: nothing. */
  readonly instructions: string | null;
}

/** What a resumed thread is told first. */
export type ResumeNotes = TurnPosition & HandoverNotes;

/** Guidance for the first turn of a run on a thread that an earlier run left. */
export function resumePrompt(notes: ResumeNotes): string {
  const { turn, maxTurns, issue, work, instructions } = notes;
  const lines = [
    `Resume ${issue.identifier}: turn ${turn} of ${maxTurns} of a new run on this thread.`,
    whatHappened(notes),
    ...cutOff(work),
    `The issue is in state "${issue.state}". Work on from the workspace as it is now; don't start over.`,
    ...doubts(notes),
  ];
  // Measured: what a resume says above the prompts reaches the model only after a compaction, and displaces what the start said.
  if (instructions !== null) lines.push("", "Instructions for this run:", instructions);
  return lines.join("\n");
}

export interface FreshNotes extends HandoverNotes {
  /** Why the bound thread was left; null where the run was given none. */
  readonly replaced: string | null;
  /** The workspace's HEAD; null where there is none, or it isn't known. */
  readonly head: string | null;
}

/** Characters of one message of an earlier thread. */
const MESSAGE_CHARS = 1500;

/** What a fresh thread is told behind the whole prompt, when others have worked on the ticket before; "" when nobody has. */
export function earlierWorkNotes(notes: FreshNotes): string {
  const { replaced, work, head, callsInDoubt } = notes;
  if (work.turns === 0 && callsInDoubt.length === 0) return "";
  const thread = replaced === null ? "" : ` Its thread can't be gone on with: ${replaced}.`;
  const lines = [
    "Earlier work on this issue:",
    `${whatHappened(notes)}${thread}`,
    `There were ${work.turns} turns in ${work.runs} runs before this thread, which knows nothing of them.`,
    ...cutOff(work),
    head === null
      ? "Look at the workspace first: it holds what they left."
      : `Look at the workspace first, with git status and git log: it holds what they left, and its HEAD is ${head}.`,
    ...doubts(notes),
    ...work.tools.map(({ name, calls, failed }) => `- ${name} was called ${calls} times, ${failed} of them failed`),
  ];
  if (work.messages.length > 0) lines.push("The last that was said, oldest first:");
  for (const message of work.messages) lines.push("---", cut(message));
  return lines.join("\n");
}

function whatHappened({ why, error }: HandoverNotes): string {
  return `${WHAT_HAPPENED[why]}${error === null ? "" : ` It ended with: ${error}`}`;
}

/** The turn that somebody or something has ended early. */
function cutOff({ lastTurn }: EarlierWork): string[] {
  if (lastTurn?.status !== "interrupted") return [];
  return [`Its turn ${lastTurn.turn} was cut off in the middle: a command or an edit of it may be half done.`];
}

function doubts({ callsInDoubt }: HandoverNotes): string[] {
  if (callsInDoubt.length === 0) return [];
  return [
    "The answer to these tool calls was lost, so each may or may not have taken effect. Check before you repeat one:",
    ...callsInDoubt.map((call) => `- ${call}`),
  ];
}

function cut(text: string): string {
  return text.length <= MESSAGE_CHARS ? text : `${text.slice(0, MESSAGE_CHARS)} [cut]`;
}

/** A prompt with what a person has said to the agent since its last turn. */
export function withPersonsWords(prompt: string, items: readonly InboxItem[]): string {
  return [prompt, ...items.map(personsWords)].join("\n\n");
}

function personsWords(item: InboxItem): string {
  if (item.kind === "message") return `A person who watches over this work writes to you:\n${item.text}`;
  const { summary, question, answer } = item;
  const verdict = answer.accept ? "yes" : "no";
  const lines = [`A person has answered what you asked before ("${summary}"): ${answer.text ?? verdict}`];
  if (answer.accept && question !== "question") lines.push("Ask for exactly the same again, and it is allowed once.");
  if (!answer.accept) lines.push("Find another way, or say in the ticket why there is none.");
  return lines.join("\n");
}
