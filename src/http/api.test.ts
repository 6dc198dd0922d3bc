/** The API of a whole daemon: what it answers has the documented shape, and what is asked for happens. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { openStream } from "../../test/support/event-stream.ts";
import { TestDaemon } from "../../test/support/test-daemon.ts";
import { until } from "../../test/support/until.ts";
import { errorSchema } from "./envelope.ts";
import { acceptedSchema, healthSchema, readySchema } from "./schemas/daemon.ts";
import {
  daysSchema,
  eventsSchema,
  historySchema,
  runDetailSchema,
  runsSchema,
  usageSchema,
} from "./schemas/history.ts";
import { issueSchema, stateSchema } from "./schemas/state.ts";
import { questionsSchema } from "./schemas/questions.ts";
import { explanationSchema, issuesSchema } from "./schemas/tickets.ts";

const HANG = [[[{ do: "hang" }], [{ do: "hang" }], [{ do: "hang" }]]];
const ASK = [[[{ do: "ask", about: "command", command: "echo hello" }, { do: "hang" }]]];

let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await TestDaemon.make();
  await daemon.writeScript({ "ENG-1": HANG, "ENG-2": ASK, "ENG-6": HANG });
  await daemon.writeWorkflow({
    tracker: { kind: "local", provider: { path: "./board" }, excluded_labels: ["hold"] },
    codex: { command: daemon.agentCommand(), approval_policy: "on-request" },
    approvals: { commands: "ask" },
    polling: { interval_ms: 100 },
  });
  await daemon.writeTicket("ENG-1");
  await daemon.writeTicket("ENG-2");
  await daemon.writeTicket("ENG-3", { labels: ["hold"] });
  await daemon.start();
  await daemon.untilInTurn("ENG-1");
  await daemon.until("ENG-2 asks", ({ running }) => running.find((row) => row["question"] !== null));
});

afterAll(() => daemon[Symbol.asyncDispose]());

async function read<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T>> {
  const { status, text } = await daemon.ask("GET", path);
  expect([path, status]).toEqual([path, 200]);
  return schema.parse(JSON.parse(text));
}

/** Status, and the error's code where there is one. */
async function send(path: string, body?: unknown): Promise<readonly [number, string | null]> {
  const { status, text } = await daemon.ask("POST", path, body);
  const answer: unknown = JSON.parse(text);
  if (status === 202) {
    acceptedSchema.parse(answer);
    return [status, null];
  }
  return [status, errorSchema.parse(answer).error.code];
}

describe("reading", () => {
  it("answers every list and figure in its documented shape", async () => {
    const state = await read("/api/v1/state", stateSchema);
    expect(state.counts.running).toBe(2);
    const { runs } = await read("/api/v1/runs?issue=ENG-1&limit=5", runsSchema);
    expect(runs.map((run) => [run.issue_identifier, run.outcome])).toEqual([["ENG-1", null]]);
    const history = await read("/api/v1/history?limit=1", historySchema);
    expect(history.issues).toHaveLength(1);
    expect(history.next).toBe(history.issues[0]?.issue_id);
    const { days } = await read("/api/v1/days?days=1", daysSchema);
    expect(days[0]?.outcomes["running"]).toBe(2);
    const usage = await read("/api/v1/usage?by=day", usageSchema);
    expect([usage.by, usage.total.runs]).toEqual(["day", 2]);
    const issue = await read("/api/v1/issues/eng-1", issueSchema);
    expect([issue.issue_identifier, issue.status]).toEqual(["ENG-1", "running"]);
    expect(await read("/api/v1/ENG-1", issueSchema)).toMatchObject({ issue_identifier: "ENG-1" });
    expect(await read("/api/v1/health", healthSchema)).toEqual({ status: "ok", mode: "running", problems: [] });
    expect(await read("/api/v1/ready", readySchema)).toEqual({ ready: true, problems: [] });
  });

  it("answers one run with its turns, and its events a page at a time", async () => {
    const { runs } = await read("/api/v1/runs?issue=ENG-2", runsSchema);
    const path = `/api/v1/runs/${runs[0]?.run_id ?? ""}`;
    const detail = await read(path, runDetailSchema);
    expect(detail.turn_list.map(({ turn, status }) => [turn, status])).toEqual([[1, null]]);
    const events = await until("two events are in the ledger", async () => {
      const page = await read(`${path}/events`, eventsSchema);
      return page.events.length >= 2 && page.events;
    });
    const [first, second] = events;
    const rest = await read(`${path}/events?after=${first?.sequence ?? 0}&limit=1`, eventsSchema);
    expect(rest.events).toEqual([second]);
    const { status, text } = await daemon.ask("GET", "/api/v1/runs/none/events");
    expect([status, errorSchema.parse(JSON.parse(text)).error.code]).toEqual([404, "run_not_found"]);
  });

  it("streams snapshots and events, and goes on after the last event that a reader had", async () => {
    const { text } = await daemon.ask("GET", "/api/v1/runs?issue=ENG-1");
    const [run] = runsSchema.parse(JSON.parse(text)).runs;
    const socketPath = daemon.daemon.files.socket;
    const headers = { "last-event-id": "0" };
    const stream = await openStream({ socketPath, path: "/api/v1/stream", headers });
    const frames = await stream.until("snapshot");
    expect(frames).toContain(`"run_id":"${run?.run_id ?? ""}"`);
    expect(frames).toMatch(/^id: \d+\nevent: run_event\n/m);
    stateSchema.parse(JSON.parse(/^event: snapshot\ndata: (.*)$/m.exec(frames)?.[1] ?? ""));
    stream.close();
  });

  it("notices readers of the stream that have gone", async () => {
    const where = { socketPath: daemon.daemon.files.socket, path: "/api/v1/stream" };
    const streams = await Promise.all(Array.from({ length: 64 }, () => openStream(where)));
    expect((await daemon.ask("GET", "/api/v1/stream")).status).toBe(503);
    for (const stream of streams) stream.close();
    const again = await until("there is room again", async () => {
      const stream = await openStream(where);
      if (stream.status === 200) return stream;
      stream.close();
      return null;
    });
    again.close();
  });

  it("lists tickets that can't start beside those that run, and says which gate is closed", async () => {
    const { issues } = await read("/api/v1/issues", issuesSchema);
    expect(issues.map((issue) => [issue.issue_identifier, issue.status, issue.gate])).toEqual([
      ["ENG-1", "running", null],
      ["ENG-2", "running", null],
      ["ENG-3", "held", "excluded_labels"],
    ]);
    const explained = await read("/api/v1/issues/ENG-3/explain", explanationSchema);
    expect(explained.verdict).toBe("held");
    expect(explained.gates.filter((gate) => !gate.pass)).toEqual([
      {
        gate: "excluded_labels",
        pass: false,
        value: "has hold; excluded: hold",
        mend: "take the labels of tracker.excluded_labels off it",
      },
    ]);
  });

  it("refuses what it doesn't understand, and names it", async () => {
    const { status, text } = await daemon.ask("GET", "/api/v1/runs?limit=none&colour=red");
    expect(status).toBe(400);
    const { error } = errorSchema.parse(JSON.parse(text));
    expect(error.code).toBe("bad_request");
    expect(error.message).toMatch(/limit: .*colour/s);
  });

  it("describes every route in its OpenAPI document", async () => {
    const { text } = await daemon.ask("GET", "/api/v1/openapi.json");
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { requestBody?: unknown }>> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    for (const wanted of [
      ...["state", "issues", "runs", "usage", "questions", "health", "ready", "{identifier}"].map(
        (p) => `GET /api/v1/${p}`,
      ),
      ...["pause", "resume", "drain", "refresh"].map((verb) => `POST /api/v1/${verb}`),
      ...["stop", "retry", "release", "reset", "steer", "interrupt", "compact"].map(
        (verb) => `POST /api/v1/issues/{identifier}/${verb}`,
      ),
      "POST /api/v1/questions/{id}/answer",
      "GET /api/v1/issues/{identifier}/explain",
    ]) {
      expect(operations).toContain(wanted);
    }
    expect(paths["/api/v1/issues/{identifier}/steer"]?.["post"]?.requestBody).toMatchObject({
      content: { "application/json": { schema: { required: ["text"], additionalProperties: false } } },
    });
  });
});

describe("a command", () => {
  it("that names nobody, or doesn't fit as things stand, is refused with a code and the mend", async () => {
    expect(await send("/api/v1/issues/ENG-99/stop")).toEqual([404, "issue_not_found"]);
    expect(await send("/api/v1/issues/ENG-3/stop")).toEqual([404, "issue_not_claimed"]);
    expect(await send("/api/v1/issues/ENG-1/retry")).toEqual([409, "is_running"]);
    expect(await send("/api/v1/questions/none/answer", {})).toEqual([404, "question_gone"]);
    expect(await send("/api/v1/issues/ENG-1/steer", {})).toEqual([400, "bad_request"]);
    expect(await send("/api/v1/issues/ENG-1/steer", { text: " " })).toEqual([400, "bad_text"]);
    expect(await send("/api/v1/issues/ENG-1/stop", { force: true })).toEqual([400, "bad_request"]);
  });

  it.each([
    ["GET", "/api/v1/runs?limit=5000", undefined, "query: limit: 5000 is more than 1000; give at most 1000"],
    ["GET", "/api/v1/runs?limit=0", undefined, "query: limit: 0 is less than 1; give at least 1"],
    ["GET", "/api/v1/runs?limit=1.5", undefined, "query: limit: 1.5 is not a whole number; give one"],
    ["GET", "/api/v1/runs?limit=ten", undefined, 'query: limit: "ten" is not a number; give one'],
    ["GET", "/api/v1/usage?by=year", undefined, 'query: by: "year" is unknown; give one of issue, day'],
    ["GET", "/api/v1/state?verbose=1", undefined, "query: verbose: is not known here; leave it out"],
    ["POST", "/api/v1/issues/ENG-1/steer", {}, "body: text: is missing; give a string"],
    ["POST", "/api/v1/issues/ENG-1/steer", { text: 5 }, "body: text: 5 is not a string; give one"],
    ["POST", "/api/v1/questions/q/answer", { accept: "yes" }, 'body: accept: "yes" is not true or false; give one'],
    ["POST", "/api/v1/issues/ENG-1/steer", [5], "body: [5] is not an object; give one"],
  ])("%s %s with %j names the key, the value and the mend", async (method, path, body, message) => {
    const { status, text } = await daemon.ask(method, path, body);
    expect([status, JSON.parse(text)]).toEqual([400, { error: { code: "bad_request", message } }]);
  });

  it("answers a question, and the list of questions is empty again", async () => {
    const { questions } = await read("/api/v1/questions", questionsSchema);
    expect((await read("/api/v1/state", stateSchema)).questions).toEqual(questions);
    expect(questions).toMatchObject([
      { issue_identifier: "ENG-2", kind: "command", status: "running", answered: false },
    ]);
    const [question] = questions;
    expect(await send(`/api/v1/questions/${encodeURIComponent(question?.id ?? "")}/answer`, { accept: false })).toEqual(
      [202, null],
    );
    await daemon.until("ENG-2 asks no more", ({ running }) => running.every((row) => row["question"] === null));
    expect((await read("/api/v1/questions", questionsSchema)).questions).toEqual([]);
  });

  it("steers, interrupts and stops an agent", async () => {
    await daemon.untilInTurn("ENG-1");
    expect(await send("/api/v1/issues/ENG-1/steer", { text: "hurry" })).toEqual([202, null]);
    await daemon.until("the agent has noted it", ({ running }) =>
      running.some((row) => row["issue_identifier"] === "ENG-1" && String(row["last_message"]).includes("hurry")),
    );
    expect(await send("/api/v1/issues/eng-1/stop")).toEqual([202, null]);
    await daemon.until("ENG-1 is blocked", ({ blocked }) =>
      blocked.some((row) => row["issue_identifier"] === "ENG-1" && row["why"] === "operator"),
    );
  });

  it("pauses, drains and resumes the whole daemon, which is then not ready to work", async () => {
    expect(await send("/api/v1/pause")).toEqual([202, null]);
    await daemon.writeTicket("ENG-6");
    expect(await send("/api/v1/issues/ENG-1/release")).toEqual([202, null]);
    await daemon.until("both are free to start", ({ tracker }) => tracker["candidates_eligible"] === 2);
    const held = await read("/api/v1/issues/ENG-6/explain", explanationSchema);
    expect(held.gates.filter((gate) => !gate.pass).map(({ gate }) => gate)).toEqual(["pause_operator"]);
    expect(await send("/api/v1/drain")).toEqual([202, null]);
    const { status, text } = await daemon.ask("GET", "/api/v1/ready");
    expect([status, readySchema.parse(JSON.parse(text)).problems]).toEqual([
      503,
      [{ part: "daemon", message: "it is draining" }],
    ]);
    expect(await send("/api/v1/resume")).toEqual([202, null]);
    await daemon.untilInTurn("ENG-6");
  });
});
