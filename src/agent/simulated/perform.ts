/** Carries out the steps of a script, one after the other. */
import { assertNever } from "../../domain/errors.ts";
import type { Actions } from "./actions.ts";
import { performAsk } from "./ask.ts";
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
      return performAsk({ ...step, text: fill(step.text, words), path: fill(step.path, words) }, actions);
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
