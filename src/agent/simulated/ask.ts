/** Requests that a simulated agent sends to its client: approvals, permissions, questions and elicitations. */
import { assertNever } from "../../domain/errors.ts";
import { type Actions, commandItem } from "./actions.ts";
import { planWrite } from "./file-change.ts";
import { shortId } from "./ids.ts";
import type { Item } from "./rollout.ts";
import type { Step } from "./script.ts";
import { isRecord } from "./wire.ts";

type AskStep = Extract<Step, { do: "ask" }>;

/** Asks, and acts on the answer as the real server does (measured on app-server 0.171.0). */
export async function performAsk(step: AskStep, actions: Actions): Promise<void> {
  switch (step.about) {
    case "command":
      return askCommand(step, actions);
    case "file_change":
      return askFileChange(step, actions);
    case "permissions":
      return askPermissions(step, actions);
    case "question":
      return askQuestion(step, actions);
    case "elicitation":
      return askElicitation(step, actions);
    default:
      return assertNever(step.about);
  }
}

type Decision = "accept" | "decline" | "cancel" | "invalid";

/** An answer of another shape is a rejection. */
function decisionOf(reply: unknown): Decision {
  const decision = isRecord(reply) ? reply["decision"] : undefined;
  if (decision === "accept" || decision === "acceptForSession" || isRecord(decision)) return "accept";
  return decision === "decline" || decision === "cancel" ? decision : "invalid";
}

async function askCommand(step: AskStep, actions: Actions): Promise<void> {
  const { turn } = actions;
  actions.waitFor("waitingOnApproval");
  const item = turn.open({ ...commandItem(step.command, actions.cwd), source: "agent" });
  const params = {
    kind: "command",
    itemId: item.id,
    startedAtMs: item["startedAtMs"],
    environmentId: "local",
    reason: step.text,
    command: item["command"],
    cwd: actions.cwd,
    commandActions: item["commandActions"],
    proposedExecpolicyAmendment: ["/bin/bash", "-c", step.command],
    availableDecisions: ["accept", "cancel"],
  };
  const reply = await actions.request("item/commandExecution/requestApproval", params, {
    answered: (result) => rejectCommand(actions, item, decisionOf(result)),
    interrupted: () => actions.respond(step.tokens, step.command),
  });
  const decision = decisionOf(reply);
  if (decision === "accept") await actions.runAccepted(step.command, item);
  actions.respond(step.tokens, step.command);
  if (decision === "cancel") turn.cancel();
}

function rejectCommand(actions: Actions, item: Item, decision: Decision): void {
  if (decision !== "accept") actions.turn.complete({ ...item, status: decision === "invalid" ? "failed" : "declined" });
}

async function askFileChange(step: AskStep, actions: Actions): Promise<void> {
  const { turn } = actions;
  const change = await planWrite({ cwd: actions.cwd, path: step.path, content: `${step.text}\n`, append: false });
  const item = turn.open({ type: "fileChange", id: shortId("call"), changes: [change.view], status: "inProgress" });
  actions.waitFor("waitingOnApproval");
  const params = { itemId: item.id, startedAtMs: item["startedAtMs"], reason: null, grantRoot: null };
  const decision = decisionOf(await actions.request("item/fileChange/requestApproval", params));
  if (decision === "cancel") return turn.cancel();
  if (decision === "accept") await turn.until(change.apply());
  turn.complete({ ...item, status: decision === "accept" ? "completed" : "declined" });
  if (decision === "accept") turn.setDiff(change.view.diff);
  actions.respond(step.tokens, step.text);
}

/** Answers without an effect of their own are said, so that a client sees what arrived. */
async function sayAnswer(step: AskStep, actions: Actions, text: string): Promise<void> {
  return actions.say(text, { tokens: step.tokens });
}

async function askPermissions(step: AskStep, actions: Actions): Promise<void> {
  actions.waitFor("waitingOnApproval");
  const reply = await actions.request("item/permissions/requestApproval", {
    itemId: shortId("call"),
    environmentId: "local",
    startedAtMs: Date.now(),
    cwd: actions.cwd,
    reason: step.text,
    permissions: { network: { enabled: true }, fileSystem: null },
  });
  const granted = isRecord(reply) ? (reply["permissions"] ?? {}) : {};
  return sayAnswer(step, actions, `Permissions: ${JSON.stringify(granted)}`);
}

async function askQuestion(step: AskStep, actions: Actions): Promise<void> {
  actions.waitFor("waitingOnUserInput");
  const question = { id: "q1", header: "Question", question: step.text, isOther: true, isSecret: false, options: null };
  const params = { itemId: shortId("call"), questions: [question], isBlocking: true, autoResolutionMs: null };
  const reply = await actions.request("item/tool/requestUserInput", params);
  const answers = isRecord(reply) ? (reply["answers"] ?? {}) : {};
  return sayAnswer(step, actions, `Answers: ${JSON.stringify(answers)}`);
}

async function askElicitation(step: AskStep, actions: Actions): Promise<void> {
  actions.waitFor("waitingOnUserInput");
  const schema = { type: "object", properties: { answer: { type: "string" } } };
  const params = { serverName: "simulated", mode: "form", message: step.text, requestedSchema: schema, _meta: null };
  const reply = await actions.request("mcpServer/elicitation/request", params);
  const action = isRecord(reply) && typeof reply["action"] === "string" ? reply["action"] : "decline";
  return sayAnswer(step, actions, `Elicitation: ${action}`);
}
