import { afterEach, beforeEach, expect, it } from "vitest";
import { makeRunBench, type RunBench } from "../../test/support/run-bench.ts";
import type { Question } from "../domain/outcome.ts";

let my: RunBench;

beforeEach(async () => {
  my = await makeRunBench();
});

afterEach(() => my[Symbol.asyncDispose]());

it("a question is an event once, and its answer another", async () => {
  const run = my.start();
  await my.backend.turn(1);
  const listener = my.backend.sessions[0]?.listener;
  const question = (id: string): Question => ({
    id,
    kind: "command",
    summary: "may I",
    subject: null,
    detail: "",
    askedAt: 1,
    deadlineAt: null,
  });
  listener?.question(question("q1"));
  listener?.question(question("q1"));
  listener?.question(question("q2"));
  listener?.question(null);
  listener?.answered("q2");
  const told = my.events.flatMap((event) => {
    if (event.kind === "question_asked") return [`asked ${event.question.id}`];
    return event.kind === "question_answered" ? [`answered ${event.questionId}`] : [];
  });
  expect(told).toEqual(["asked q1", "asked q2", "answered q2"]);
  expect(my.heard.filter((line) => line === "question" || line.startsWith("took"))).toEqual([
    "question",
    "question",
    "question",
    "question",
    "took q2",
  ]);
  run.stop("operator_stop");
  await run.done;
});
