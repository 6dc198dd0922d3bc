/** Carries out the steps of a script, one after the other. */
import { assertNever } from "../../domain/errors.ts";
import { type Actions, commandItem } from "./actions.ts";
import { shortId } from "./ids.ts";
import type { Step } from "./script.ts";
import { NO_LIMITS, TurnFailure } from "./turn.ts";
import { overflowed } from "./usage.ts";
import { isRecord } from "./wire.ts";

/** What `{{name}}` in a script's texts stands for. Shell commands get the same values as environment variables instead. */
export type Words = Readonly<Record<"ticket" | "run" | "turn", string>>;

function fill(text: string, words: Words): string {
  return text.replace(/\{\{(ticket|run|turn)\}\}/g, (whole, name: string) =>
    name === "ticket" || name === "run" || name === "turn" ? words[name] : whole,
  );
}

/** Fills the strings inside a JSON value. */
function fillDeep(value: unknown, words: Words): unknown {
  if (typeof value === "string") return fill(value, words);
  if (Array.isArray(value)) return value.map((entry) => fillDeep(entry, words));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fillDeep(entry, words)]));
}

/** Runs the steps. Messages that came by steering are acknowledged between them. */
export async function performSteps(steps: readonly Step[], actions: Actions, words: Words): Promise<void> {
  for (const step of steps) {
    await performStep(step, actions, words);
    await answerSteers(actions);
  }
}

/** Says that steering messages were heard. */
export async function answerSteers(actions: Actions): Promise<void> {
  for (const text of actions.turn.takeSteers()) await actions.say(`Noted: ${text}`);
}

async function performStep(step: Step, actions: Actions, words: Words): Promise<void> {
  switch (step.do) {
    case "say":
    case "think":
    case "shell":
    case "write_file":
    case "tool":
    case "parallel":
      return performWork(step, actions, words);
    case "tokens":
      return actions.respond(step);
    case "wait":
      return actions.pause(step.ms);
    case "hang":
      return actions.hang();
    case "burst":
      return actions.say("x".repeat(step.events), {
        chunks: step.events,
        ...(step.every_ms === undefined ? {} : { everyMs: step.every_ms }),
      });
    case "ask":
      return ask(step, actions, words);
    case "rate_limits":
    case "reconnecting":
    case "fail":
    case "usage_limit":
    case "overflow":
    case "exit":
      return performTrouble(step, actions);
    default:
      return assertNever(step);
  }
}

type StepOf<K extends Step["do"]> = Extract<Step, { do: K }>;

async function performWork(
  step: StepOf<"say" | "think" | "shell" | "write_file" | "tool" | "parallel">,
  actions: Actions,
  words: Words,
): Promise<void> {
  switch (step.do) {
    case "say":
      return actions.say(fill(step.text, words), {
        tokens: step.tokens,
        phase: step.phase ?? null,
        ...(step.chunks === undefined ? {} : { chunks: step.chunks }),
        ...(step.every_ms === undefined ? {} : { everyMs: step.every_ms }),
      });
    case "think":
      return actions.think(fill(step.text, words));
    case "shell":
      return shell(step, actions);
    case "write_file":
      return actions.writeFile(fill(step.path, words), fill(step.content, words), step.append, step.tokens);
    case "tool":
    case "parallel":
      return callTools(step, actions, words);
    default:
      return assertNever(step);
  }
}

async function shell(step: StepOf<"shell">, actions: Actions): Promise<void> {
  const end = await actions.shell(step.command, step.tokens, step.background);
  if (end === null || end.exitCode === 0 || step.may_fail) return;
  const tail = end.output.trim().split("\n").slice(-3).join(" | ");
  throw new TurnFailure(`command exited with ${end.exitCode}: ${step.command}: ${tail}`, "other");
}

async function callTools(step: StepOf<"tool" | "parallel">, actions: Actions, words: Words): Promise<void> {
  const calls = step.do === "tool" ? [{ tool: step.tool, arguments: step.arguments }] : step.calls;
  const filled = calls.map((call) => ({ tool: call.tool, arguments: fillDeep(call.arguments, words) }));
  const outcomes = await actions.callTools(filled, step.tokens);
  const failed = outcomes.findIndex((outcome) => !outcome.success);
  if (failed === -1 || step.may_fail) return;
  throw new TurnFailure(`tool ${calls[failed]?.tool ?? ""} failed: ${outcomes[failed]?.text ?? ""}`, "other");
}

function limits(
  usedPercent: number,
  windowMinutes: number,
  resetsInMs: number | null,
): Readonly<Record<string, unknown>> {
  const resetsAt = resetsInMs === null ? null : Math.ceil((Date.now() + resetsInMs) / 1000);
  return { ...NO_LIMITS, primary: { usedPercent, windowDurationMins: windowMinutes, resetsAt } };
}

async function performTrouble(
  step: StepOf<"rate_limits" | "reconnecting" | "fail" | "usage_limit" | "overflow" | "exit">,
  actions: Actions,
): Promise<void> {
  const { turn } = actions;
  switch (step.do) {
    case "rate_limits":
      return turn.limits(limits(step.used_percent, step.window_minutes, step.resets_in_ms));
    case "reconnecting":
      for (let n = 1; n <= step.times; n += 1) {
        const info = { responseStreamDisconnected: { httpStatusCode: step.http_status } };
        turn.notice(`Reconnecting... ${n}/${step.times}`, info, "simulated disconnect");
        await actions.pause(step.every_ms);
      }
      return;
    case "fail":
      throw new TurnFailure(step.message, step.error);
    case "usage_limit":
      turn.limits(limits(100, 300, step.resets_in_ms));
      throw new TurnFailure(step.message, "usageLimitExceeded");
    case "overflow":
      turn.repeatUsage();
      turn.setUsage(overflowed());
      throw new TurnFailure(step.message, "contextWindowExceeded");
    case "exit":
      actions.exit(step.code);
      return;
    default:
      return assertNever(step);
  }
}

function decision(reply: unknown): string {
  const value = isRecord(reply) ? reply["decision"] : undefined;
  return typeof value === "string" ? value : "decline";
}

async function ask(step: StepOf<"ask">, actions: Actions, words: Words): Promise<void> {
  const text = fill(step.text, words);
  switch (step.about) {
    case "command":
      return askCommand(text, step.command, actions);
    case "file_change":
      return askFileChange(text, fill(step.path, words), actions);
    case "permissions": {
      const permissions = { network: { enabled: true }, fileSystem: null };
      const params = {
        itemId: shortId("call"),
        environmentId: "local",
        startedAtMs: Date.now(),
        cwd: actions.cwd,
        reason: text,
        permissions,
      };
      const reply = await actions.request("item/permissions/requestApproval", params, "waitingOnApproval");
      return actions.say(`Permissions: ${JSON.stringify(isRecord(reply) ? (reply["permissions"] ?? {}) : {})}`);
    }
    case "question": {
      const question = { id: "q1", header: "Question", question: text, isOther: true, isSecret: false, options: null };
      const params = { itemId: shortId("call"), questions: [question], isBlocking: true, autoResolutionMs: null };
      const reply = await actions.request("item/tool/requestUserInput", params, "waitingOnUserInput");
      return actions.say(`Answers: ${JSON.stringify(isRecord(reply) ? (reply["answers"] ?? {}) : {})}`);
    }
    case "elicitation": {
      const schema = { type: "object", properties: { answer: { type: "string" } } };
      const params = { serverName: "simulated", mode: "form", message: text, requestedSchema: schema, _meta: null };
      const reply = await actions.request("mcpServer/elicitation/request", params, "waitingOnUserInput");
      return actions.say(`Elicitation: ${isRecord(reply) ? String(reply["action"]) : "decline"}`);
    }
    default:
      return assertNever(step.about);
  }
}

async function askCommand(reason: string, command: string, actions: Actions): Promise<void> {
  const { turn } = actions;
  const item = turn.open({ ...commandItem(command, actions.cwd), source: "agent" });
  const subject = { command: item["command"], cwd: actions.cwd, commandActions: item["commandActions"] };
  const params = {
    kind: "command",
    itemId: item.id,
    startedAtMs: Date.now(),
    environmentId: "local",
    reason,
    ...subject,
    proposedExecpolicyAmendment: null,
    availableDecisions: ["accept", "decline", "cancel"],
  };
  const reply = decision(await actions.request("item/commandExecution/requestApproval", params, "waitingOnApproval"));
  if (reply === "accept" || reply === "acceptForSession") await actions.runAccepted(command, item);
  else if (reply === "cancel") return turn.cancel();
  else turn.complete({ ...item, status: "declined" });
  actions.respond(undefined, command);
}

async function askFileChange(reason: string, path: string, actions: Actions): Promise<void> {
  const { turn } = actions;
  const change = await actions.planWrite(path, `${reason}\n`, false);
  const item = turn.open({ type: "fileChange", id: shortId("call"), changes: [change.view], status: "inProgress" });
  const params = { itemId: item.id, startedAtMs: Date.now(), reason, grantRoot: null };
  const reply = decision(await actions.request("item/fileChange/requestApproval", params, "waitingOnApproval"));
  if (reply === "cancel") return turn.cancel();
  const accepted = reply === "accept" || reply === "acceptForSession";
  if (accepted) await change.apply();
  turn.complete({ ...item, status: accepted ? "completed" : "declined" });
  actions.respond(undefined, reason);
}
