/** What a person is told about a command: what it does now, or why it does nothing and what would help. Pure; decides nothing itself. */
import type { BlockedClaim, Claim, RunningClaim } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { IssueId } from "../domain/ids.ts";
import type { OperatorCommand, OperatorResult, RefusalCode } from "./events.ts";
import type { State } from "./state.ts";

/** What a model can be told in one message; a longer text is a file, and belongs into the workspace. */
const MAX_TEXT_CHARS = 50_000;

/** The answer to a command as things stand. A command that is refused changes nothing. */
export function judge(state: State, command: OperatorCommand): OperatorResult {
  switch (command.kind) {
    case "pause":
      return accept("paused: nothing new starts until `resume`, also over a restart; runs go on");
    case "resume":
      return accept("resumed: tickets start again where nothing else holds them back");
    case "drain":
      if (state.mode === "stopping") {
        return refuse("daemon_stopping", "the daemon is stopping, which drains it already");
      }
      return accept("draining: nothing new starts until `resume` or a restart; runs go on to their own ends");
    case "refresh":
      return accept(whenRead(state));
    case "answer":
      return judgeAnswer(state, command);
    default:
      return judgeIssueCommand(state, command);
  }
}

/** A throttled tracker is left alone until its reset, whoever asks. */
function whenRead({ pauses, polling }: State): string {
  if (polling !== null) return "the tracker is being read, and is read once more right after";
  const until = pauses.get("tracker")?.until ?? null;
  if (until === null) return "the tracker is read now";
  return `the tracker throttles: it is read at ${new Date(until).toISOString()}, and not before`;
}

type IssueCommand = Extract<OperatorCommand, { issueId: IssueId }>;

function judgeIssueCommand(state: State, command: IssueCommand): OperatorResult {
  const claim = state.claims.get(command.issueId);
  if (claim === undefined) {
    if (command.kind === "retry") {
      return accept(`the ticket isn't claimed; ${whenRead(state)}, and it starts if it may`);
    }
    // Nothing runs or waits, but its thread may be bound still.
    if (command.kind === "reset") return accept("the ticket isn't claimed; its next run starts on a fresh thread");
    const what = command.kind === "interrupt" || command.kind === "compact" ? nothingTo(command.kind) : "";
    return refuse(
      "issue_not_claimed",
      `${what}the ticket neither runs nor waits nor is blocked; \`retry\` starts it if it is active`,
    );
  }
  const name = claim.issue.identifier;
  switch (command.kind) {
    case "stop":
      return judgeStop(claim);
    case "retry":
      return judgeRetry(claim);
    case "release":
    case "reset":
      if (claim.kind === "cleaning") return cleaning(claim);
      return accept(`${name} is released${command.kind === "reset" ? ", its next run starts on a fresh thread" : ""}`);
    case "steer":
      return judgeSteer(claim, command.text);
    case "interrupt":
      if (claim.kind !== "running" || claim.phase !== "turn") return notInTurn(claim, "interrupt");
      return accept(`the turn of ${name} is interrupted, and its run goes on with the next one`);
    case "compact":
      if (claim.kind !== "running" || claim.turn === 0 || claim.stopping !== null) return notInTurn(claim, "compact");
      return accept(`the thread of ${name} is compacted when its turn has ended`);
    default:
      return assertNever(command);
  }
}

function judgeStop(claim: Claim): OperatorResult {
  const name = claim.issue.identifier;
  if (claim.kind === "cleaning") return cleaning(claim);
  if (claim.kind === "blocked") {
    return refuse("is_blocked", `${name} doesn't run: it is blocked (${claim.why}); \`release\` lets go of it`);
  }
  return accept(
    `${name} is stopped and stays blocked (operator) until \`retry\`, \`release\`, or a change of the ticket`,
  );
}

function judgeRetry(claim: Claim): OperatorResult {
  const name = claim.issue.identifier;
  if (claim.kind === "cleaning") return cleaning(claim);
  if (claim.kind === "running") {
    return refuse("is_running", `${name} is running; \`stop\` it first, or \`interrupt\` its turn`);
  }
  return accept(`${name} is due now, and starts when there is a slot and no pause`);
}

function judgeSteer(claim: Claim, text: string): OperatorResult {
  const name = claim.issue.identifier;
  if (text.trim() === "") return refuse("bad_text", "the message is empty; say what the agent should know or do");
  if (text.length > MAX_TEXT_CHARS) {
    return refuse("bad_text", `the message has ${text.length} characters; ${MAX_TEXT_CHARS} are the most`);
  }
  switch (claim.kind) {
    case "cleaning":
      return cleaning(claim);
    case "running":
      return accept(
        claim.phase === "turn"
          ? `the message goes into the running turn of ${name}`
          : `the message is kept for the next turn of ${name}`,
      );
    case "waiting":
      // A fresh candidate isn't kept yet, so nor would be the message.
      if (claim.why === "dispatch") {
        return refuse("issue_not_claimed", `${name} is about to start; try again in a second`);
      }
      return accept(`the message is kept for the next run of ${name}`);
    case "blocked":
      return accept(
        `the message is kept for the next run of ${name}, which is blocked (${claim.why}); \`retry\` starts it`,
      );
    default:
      return assertNever(claim);
  }
}

function judgeAnswer(
  state: State,
  { questionId, answer }: Extract<OperatorCommand, { kind: "answer" }>,
): OperatorResult {
  const claim = findAsked(state, questionId);
  if (claim === null) {
    return refuse("question_gone", `no question ${questionId} is open; \`status\` lists those that are`);
  }
  const name = claim.issue.identifier;
  if (claim.inbox.some(({ id }) => id === questionId)) {
    return refuse("already_answered", `the question of ${name} is answered already; the agent has yet to take it`);
  }
  if ((answer.text?.length ?? 0) > MAX_TEXT_CHARS) {
    return refuse("bad_text", `the answer has ${answer.text?.length} characters; ${MAX_TEXT_CHARS} are the most`);
  }
  return accept(
    claim.kind === "running"
      ? `the agent of ${name} gets the answer`
      : `${name} goes on with the answer, on its thread, when there is a slot`,
  );
}

/** Whose open question this is; null when it is nobody's. */
export function findAsked(state: State, questionId: string): RunningClaim | BlockedClaim | null {
  for (const claim of state.claims.values()) {
    if ((claim.kind === "running" || claim.kind === "blocked") && claim.question?.id === questionId) return claim;
  }
  return null;
}

type TurnVerb = "interrupt" | "compact";

function nothingTo(verb: TurnVerb): string {
  return `there is nothing to ${verb}: `;
}

function notInTurn(claim: Claim, verb: TurnVerb): OperatorResult {
  const name = claim.issue.identifier;
  switch (claim.kind) {
    case "waiting":
      return refuse("not_running", `${nothingTo(verb)}${name} waits (${claim.why}); \`retry\` makes it due now`);
    case "blocked": {
      const mend = claim.question === null ? "`retry` starts it" : "`answer` lets it go on";
      return refuse("not_running", `${nothingTo(verb)}${name} is blocked (${claim.why}); ${mend}`);
    }
    case "cleaning":
      return cleaning(claim);
    case "running":
      return claim.stopping === null
        ? refuse(
            "not_running",
            `${nothingTo(verb)}no turn of ${name} is under way (${claim.phase}); try again in a moment`,
          )
        : refuse("is_stopping", `${nothingTo(verb)}the run of ${name} is being stopped (${claim.stopping.why})`);
    default:
      return assertNever(claim);
  }
}

function cleaning(claim: Claim): OperatorResult {
  return refuse("is_cleaning", `${claim.issue.identifier} has ended, and its workspace is being removed`);
}

function accept(message: string): OperatorResult {
  return { accepted: true, message };
}

function refuse(code: RefusalCode, message: string): OperatorResult {
  return { accepted: false, code, message };
}
