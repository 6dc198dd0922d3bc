/** Commands that have a running daemon do something. Each prints what the daemon says happens now. */
import { z } from "zod";
import { AppError } from "../domain/errors.ts";
import { readAnswer } from "./answer.ts";
import { askDaemon, followDaemon, type DaemonAddress } from "./control-client.ts";
import { printJson, printLines } from "./output.ts";
import { plainLine } from "./terminal-text.ts";

export interface ControlOptions extends DaemonAddress {
  readonly json: boolean;
}

export type DaemonVerb = "pause" | "resume" | "drain" | "refresh";
export type IssueVerb = "stop" | "retry" | "release" | "reset" | "interrupt" | "compact";

const acceptedSchema = z.object({ message: z.string() });

/** Concerns the whole daemon; answers the exit code. Every command here rejects with AppError where the daemon can't be asked, or refuses. */
export async function controlDaemon(verb: DaemonVerb, options: ControlOptions): Promise<number> {
  const answer = await askDaemon(options, { method: "POST", path: `/api/v1/${verb}` });
  if (options.json) printJson(answer);
  else printMessage(answer);
  return 0;
}

/** Drains, and comes back when no run is left. */
export async function drainAndWait(options: ControlOptions): Promise<number> {
  const answer = await askDaemon(options, { method: "POST", path: "/api/v1/drain" });
  if (!options.json) printMessage(answer);
  const done = new AbortController();
  let shown = "";
  for await (const { event, data } of followDaemon(options, null, done.signal)) {
    if (event !== "snapshot") continue;
    const { counts, mode } = readAnswer(drainingSchema, data);
    if (mode === "running") {
      throw new AppError("request_refused", "somebody has resumed the daemon: it doesn't drain any more", {});
    }
    const left = counts.running + counts.cleaning;
    if (left === 0) {
      done.abort();
      if (options.json) printJson({ drained: true });
      else printLines(["drained: no run is left"]);
      return 0;
    }
    const news = `${counts.running} still running, ${counts.cleaning} being cleaned up`;
    if (news !== shown && !options.json) printLines([news]);
    shown = news;
  }
  throw new AppError("daemon_unreachable", "the daemon has ended while its runs were waited for", {});
}

const drainingSchema = z.object({
  mode: z.string(),
  counts: z.object({ running: z.number(), cleaning: z.number() }),
});

/** Concerns one ticket. */
export async function controlIssue(issue: string, verb: IssueVerb, options: ControlOptions): Promise<number> {
  return post(`/api/v1/issues/${encodeURIComponent(issue)}/${verb}`, undefined, options);
}

/** Says something to the agent of a ticket. */
export async function steer(issue: string, text: string, options: ControlOptions): Promise<number> {
  return post(`/api/v1/issues/${encodeURIComponent(issue)}/steer`, { text }, options);
}

export interface Answer {
  readonly accept: boolean;
  readonly text: string | null;
}

const questionsSchema = z.object({
  questions: z.array(z.object({ id: z.string(), issue_identifier: z.string(), summary: z.string() })),
});

/** Answers a question by its id, or the open question of a ticket. */
export async function answerQuestion(target: string, given: Answer, options: ControlOptions): Promise<number> {
  const { questions } = readAnswer(
    questionsSchema,
    await askDaemon(options, { method: "GET", path: "/api/v1/questions" }),
  );
  const wanted = target.toLowerCase();
  const question =
    questions.find(({ id, issue_identifier: issue }) => id === target || issue === target) ??
    questions.find(({ issue_identifier: issue }) => issue.toLowerCase() === wanted);
  if (question === undefined) throw noQuestion(target, questions);
  return post(`/api/v1/questions/${encodeURIComponent(question.id)}/answer`, given, options);
}

function noQuestion(target: string, open: z.infer<typeof questionsSchema>["questions"]): AppError {
  const list = open.map(({ issue_identifier: issue, id, summary }) => `${issue} asks (${id}): ${summary}`);
  const others = list.length === 0 ? "no question is open at all" : `those that are open:\n${list.join("\n")}`;
  return new AppError("request_refused", `${target} has no open question; ${others}`, { target });
}

async function post(path: string, body: unknown, options: ControlOptions): Promise<number> {
  const said = await askDaemon(options, { method: "POST", path, ...(body === undefined ? {} : { body }) });
  if (options.json) printJson(said);
  else printMessage(said);
  return 0;
}

function printMessage(said: unknown): void {
  printLines([plainLine(readAnswer(acceptedSchema, said).message)]);
}
