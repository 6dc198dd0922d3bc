/** What a person says to an agent in the tracker, as the operator's command that it amounts to. */
import type { Claim } from "../domain/claim.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Question } from "../domain/outcome.ts";
import type { Log } from "../lib/log.ts";
import type { OperatorCommand, OperatorResult } from "../scheduler/events.ts";
import type { RunSessions, SessionEvent, SessionPrompt } from "../tracker/port.ts";

export interface SessionPromptDeps {
  readonly log: Log;
  claims(): ReadonlyMap<IssueId, Claim>;
  operate(command: OperatorCommand): OperatorResult;
  sessions(): RunSessions | undefined;
}

const YES = /^(yes|y|ok|okay|accept|approve|approved|allow|go ahead)[.!]?$/i;
const NO = /^(no|n|decline|deny|reject|refuse)[.!]?$/i;
const UNCLEAR = "That needs a yes or a no: please answer with one of these words.";

/** Takes what the tracker tells of its sessions; nothing where runs aren't shown there, whoever sends it. */
export function takeSessionEvent(event: SessionEvent, deps: SessionPromptDeps): void {
  const sessions = deps.sessions();
  if (sessions === undefined) return;
  if (event.kind === "session") sessions.adopt(event.issueId, event.sessionId);
  else takePrompt(event, sessions, deps);
}

/** A stop ends the run, an answer settles its question, and anything else reaches the agent in its turn or in its next one. */
function takePrompt(prompt: SessionPrompt, sessions: RunSessions, deps: SessionPromptDeps): void {
  const { issueId, sessionId } = prompt;
  const commands = commandsFor(prompt, deps.claims().get(issueId));
  if (commands === null) return sessions.reply(sessionId, UNCLEAR);
  for (const command of commands) {
    const result = deps.operate(command);
    deps.log.info({ issueId, command: command.kind, accepted: result.accepted }, "prompt from the tracker");
    if (!result.accepted) sessions.reply(sessionId, `Not done: ${result.message}`);
  }
}

/** Null for an answer that says neither yes nor no to what asks for that. */
function commandsFor(
  { issueId, text, isStop }: SessionPrompt,
  claim: Claim | undefined,
): readonly OperatorCommand[] | null {
  if (isStop) return [{ kind: "stop", issueId }];
  if (text.trim() === "") return [];
  const question = claim?.kind === "running" || claim?.kind === "blocked" ? claim.question : null;
  if (question !== null) return answerTo(question, text.trim());
  if (claim === undefined) return [{ kind: "retry", issueId }];
  const steer = { kind: "steer", issueId, text } as const;
  // To speak to one that was stopped, or has stopped by itself, is to want it to go on.
  return claim.kind === "blocked" ? [steer, { kind: "retry", issueId }] : [steer];
}

function answerTo({ id, kind }: Question, text: string): readonly OperatorCommand[] | null {
  const answer = (accept: boolean, words: string | null): readonly OperatorCommand[] => [
    { kind: "answer", questionId: id, answer: { accept, text: words } },
  ];
  // What a question or a form asks for is in the words; everything else is a yes or a no.
  if (kind === "question") return answer(true, text);
  if (NO.test(text)) return answer(false, null);
  if (kind === "elicitation") return answer(true, text);
  return YES.test(text) ? answer(true, null) : null;
}
