/** What the real agent asks, kind by kind: settled by the settings, by a person in time, or by a person too late. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { QuestionAnswer } from "../../src/domain/inbox.ts";
import type { Question } from "../../src/domain/outcome.ts";
import type { ApprovalPolicy } from "../../src/domain/settings.ts";
import { callTool, type ModelReply, say } from "../fakes/responses-server.ts";
import { until } from "../support/until.ts";
import { AgentBench, approvalsOf, inOrder } from "./agent-bench.ts";

const MCP_SERVER = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const PATCH: ModelReply = {
  kind: "answer",
  items: [{ kind: "patch", input: "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n" }],
};
const ESCALATED = callTool("exec_command", {
  cmd: "sleep 0.2; echo it ran",
  sandbox_permissions: "require_escalated",
  justification: "must go outside",
});
const PERMISSIONS = callTool("request_permissions", {
  permissions: { network: { enabled: true } },
  reason: "to fetch",
});
const QUESTION = callTool("request_user_input", {
  questions: [
    {
      id: "colour",
      header: "Colour",
      question: "Which colour?",
      options: [
        { label: "Blue (Recommended)", description: "calm" },
        { label: "Red", description: "loud" },
      ],
    },
  ],
});
const ELICITATION: ModelReply = {
  kind: "answer",
  items: [{ kind: "call", name: "paint", namespace: "mcp__painter", arguments: {} }],
};

/** Tools that codex has only when it is told to, and an MCP server that asks. */
async function makeBench(...replies: readonly [ModelReply, ...ModelReply[]]): Promise<AgentBench> {
  const bench = await AgentBench.make(inOrder(...replies, say("done")));
  const features = "default_mode_request_user_input = true\nrequest_permissions_tool = true\n";
  const server = `[mcp_servers.painter]\ncommand = "${process.execPath}"\nargs = ["${MCP_SERVER}"]\n`;
  await writeFile(join(bench.codexHome, "config.toml"), features + server, { flag: "a" });
  return bench;
}

/** The question that is open once the agent has asked. */
async function asked(bench: AgentBench): Promise<Question> {
  return until("the agent asks", () => bench.recorder.questions.at(-1) ?? null);
}

test.each<readonly [ApprovalPolicy, boolean]>([
  ["accept", true],
  ["decline", false],
])("a file change is answered by approvals.file_changes: %s", async (policy, isMade) => {
  await using bench = await makeBench(PATCH);
  const session = await bench.open({ approvalPolicy: "untrusted" }, approvalsOf(policy));
  expect(await bench.turn(session)).toEqual({ kind: "completed" });
  const made = await readFile(join(bench.work, "a.txt"), "utf8").catch(() => null);
  expect(made).toBe(isMade ? "hello\n" : null);
  const [event] = bench.recorder.of("approval_auto_approved", "approval_declined");
  expect(event).toMatchObject({
    kind: isMade ? "approval_auto_approved" : "approval_declined",
    method: "item/fileChange/requestApproval",
    subject: expect.stringContaining("a.txt"),
  });
});

interface AskedKind {
  readonly kind: Question["kind"];
  readonly reply: ModelReply;
  readonly answer: QuestionAnswer;
  /** What the model is told then. */
  readonly told: string;
}

test.each<AskedKind>([
  { kind: "command", reply: ESCALATED, answer: { accept: true, text: null }, told: "it ran" },
  { kind: "file_change", reply: PATCH, answer: { accept: true, text: null }, told: "A a.txt" },
  { kind: "permissions", reply: PERMISSIONS, answer: { accept: true, text: null }, told: '"enabled":true' },
  { kind: "question", reply: QUESTION, answer: { accept: true, text: "green" }, told: "green" },
  {
    kind: "elicitation",
    reply: ELICITATION,
    answer: { accept: true, text: "green" },
    told: String.raw`"content":{"colour":"green"}`,
  },
])("a person is asked and answers: $kind", async ({ kind, reply, answer, told }) => {
  await using bench = await makeBench(reply);
  const approvalPolicy = kind === "file_change" ? "untrusted" : "on-request";
  const session = await bench.open({ approvalPolicy }, approvalsOf("ask"));
  const turn = bench.turn(session);
  const question = await asked(bench);
  expect(question).toMatchObject({ kind, deadlineAt: question.askedAt + 60_000 });
  expect(session.answer(question.id, answer)).toBe(true);
  expect(await turn).toEqual({ kind: "completed" });
  expect(bench.model.requests.at(-1)?.outputs.at(-1)).toContain(told);
  expect(bench.recorder.answers).toEqual([question.id]);
  expect(bench.recorder.questions.at(-1)).toBeNull();
  expect(session.answer(question.id, answer)).toBe(false);
});

test("nobody answers in time: the turn ends with the question, and the late yes is good for that command once", async () => {
  await using bench = await makeBench(ESCALATED, ESCALATED, ESCALATED);
  const settings = approvalsOf("ask", 1500);
  const first = await bench.open({ approvalPolicy: "on-request" }, settings);
  const end = await bench.turn(first);
  expect(end).toMatchObject({ kind: "needs_input", question: { kind: "command" } });
  await first.close();
  if (end.kind !== "needs_input") return;
  const { id, kind, subject } = end.question;
  const grants = [{ id, kind, subject, answer: { accept: true, text: null } }];
  const bound = { threadId: first.threadId, binding: first.binding, grants };
  const second = await bench.open({ approvalPolicy: "on-request" }, settings, bound);
  expect(second.resumed).toBe(true);
  // The same command again is asked about again.
  expect(await bench.turn(second, { prompt: "go on" })).toMatchObject({ kind: "needs_input" });
  expect(bench.recorder.answers).toEqual([id]);
  expect(bench.model.requests.at(-1)?.outputs.at(-1)).toContain("it ran");
});
