import { describe, expect, it } from "vitest";
import { begin, codexBench, policies } from "../../../test/fakes/codex-bench.ts";
import { THREAD } from "../../../test/fakes/scripted-app-server.ts";
import { until } from "../../../test/support/until.ts";
import type { SessionRequest } from "../port.ts";

const COMMAND = { itemId: "call-1", command: "rm -rf /", reason: "clean up" };

describe("approvals", () => {
  it("declines at once by default and the turn goes on", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    const asked = my.server.ask("item/commandExecution/requestApproval", COMMAND);
    expect(await my.server.answerTo(asked)).toEqual([{ id: asked, result: { decision: "decline" } }]);
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
    expect(my.recorder.of("approval_declined")).toEqual([
      { kind: "approval_declined", method: "item/commandExecution/requestApproval", subject: "rm -rf /" },
    ]);
  });

  it.each(["some/unknown/requestApproval", "attestation/generate", "account/chatgptAuthTokens/refresh"])(
    "refuses what only sounds known at once, reports it, and goes on: %s",
    async (method) => {
      const my = codexBench();
      const { end, id } = await begin(my, await my.open(policies("accept")));
      const asked = my.server.ask(method);
      expect(await my.server.answerTo(asked)).toMatchObject([{ id: asked, error: { code: -32_601 } }]);
      my.server.endTurn(id, "completed");
      expect(await end).toEqual({ kind: "completed" });
      expect(my.recorder.of("other_message")).toEqual([{ kind: "other_message", method }]);
    },
  );

  it.each([
    ["execCommandApproval", { command: ["ls", "-l"] }],
    ["applyPatchApproval", { fileChanges: { "a.txt": {} } }],
  ])("answers an old server's %s in its words", async (method, params) => {
    for (const [policy, decision] of [
      ["accept", "approved"],
      ["decline", "denied"],
    ] as const) {
      const my = codexBench();
      await begin(my, await my.open(policies(policy)));
      const asked = my.server.ask(method, params);
      expect(await my.server.answerTo(asked)).toEqual([{ id: asked, result: { decision } }]);
    }
  });

  it("never widens a rule, whatever is offered", async () => {
    const my = codexBench();
    await begin(my, await my.open(policies("accept")));
    const amendment = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ["rm"] } };
    const asked = my.server.ask("item/commandExecution/requestApproval", {
      ...COMMAND,
      availableDecisions: [amendment],
    });
    expect(await my.server.answerTo(asked)).toEqual([{ id: asked, result: { decision: "accept" } }]);
  });

  it("uses a grant once, for its kind and subject alone", async () => {
    const my = codexBench();
    const grant = {
      id: "q-old",
      kind: "command",
      subject: COMMAND.command,
      answer: { accept: true, text: null },
    } as const;
    await begin(my, await my.open({ grants: [grant] }));
    const asked = ["other", COMMAND.command, COMMAND.command].map((command) =>
      my.server.ask("item/commandExecution/requestApproval", { ...COMMAND, command }),
    );
    const answers = await Promise.all(asked.map((id) => my.server.answerTo(id)));
    expect(answers.map(([answer]) => answer?.result)).toEqual([
      { decision: "decline" },
      { decision: "accept" },
      { decision: "decline" },
    ]);
  });

  it("fails closed when nobody answers in time: declined, interrupted, and the turn ends with the question", async () => {
    const my = codexBench();
    const { end } = await begin(my, await my.open(policies("ask", 60_000)));
    const first = my.server.ask("item/commandExecution/requestApproval", COMMAND);
    await until("it is asked", () => my.recorder.questions.length === 1);
    await my.clock.advance(1000);
    const second = my.server.ask("item/fileChange/requestApproval", { itemId: "call-2", grantRoot: "/x" });
    await until("both are open", () => my.recorder.open.at(-1) === 2);
    await my.clock.advance(59_000);
    const question = my.recorder.questions[0];
    expect(await end).toEqual({ kind: "needs_input", question });
    expect(question).toMatchObject({
      id: "run-1.q1",
      kind: "command",
      subject: "rm -rf /",
      summary: "The agent asks to run rm -rf /: clean up",
    });
    expect((question?.deadlineAt ?? 0) - (question?.askedAt ?? 0)).toBe(60_000);
    for (const id of [first, second]) {
      expect(await my.server.answerTo(id)).toMatchObject([{ result: { decision: "decline" } }]);
    }
    expect(my.server.calls("turn/interrupt")).toEqual([{ threadId: THREAD, turnId: "turn-1" }]);
    expect(my.recorder.questions.at(-1)).toBeNull();
    expect(my.recorder.open.at(-1)).toBe(0);
  });

  it("shows the oldest question, then the next, and lets the server take one back", async () => {
    const my = codexBench();
    const session = await my.open(policies("ask"));
    await begin(my, session);
    const ids = ["a", "b", "c"].map((command) =>
      my.server.ask("item/commandExecution/requestApproval", { ...COMMAND, command }),
    );
    await until("all are open", () => my.recorder.open.at(-1) === 3);
    my.server.notify("serverRequest/resolved", { requestId: ids[1] });
    await until("one is taken back", () => my.recorder.open.at(-1) === 2);
    session.answer("run-1.q1", { accept: true, text: null });
    session.answer("run-1.q3", { accept: false, text: null });
    const answers = await Promise.all(ids.map((id) => my.server.answerTo(id)));
    expect(answers.map(([answer]) => answer?.result)).toEqual([
      { decision: "accept" },
      { decision: "decline" },
      { decision: "decline" },
    ]);
    expect(my.recorder.questions.map((question) => question?.subject ?? null)).toEqual(["a", "c", null]);
  });

  it("tells that an answer was taken when the agent says so, and never before", async () => {
    const my = codexBench();
    const grants = [{ id: "q-old", kind: "file_change", subject: "/x", answer: { accept: true, text: null } }] as const;
    const session = await my.open({ ...policies("ask"), grants });
    await begin(my, session);
    const asked = my.server.ask("item/commandExecution/requestApproval", COMMAND);
    await until("it is open", () => my.recorder.open.at(-1) === 1);
    session.answer("run-1.q1", { accept: true, text: null });
    await my.server.answerTo(asked);
    const granted = my.server.ask("item/fileChange/requestApproval", { itemId: "call-2", grantRoot: "/x" });
    expect(await my.server.answerTo(granted)).toMatchObject([{ result: { decision: "accept" } }]);
    expect(my.recorder.answers).toEqual([]);
    my.server.notify("serverRequest/resolved", { requestId: granted });
    await until("the grant is used", () => my.recorder.answers.length === 1);
    my.server.notify("serverRequest/resolved", { requestId: asked });
    await until("the answer is taken", () => my.recorder.answers.length === 2);
    expect(my.recorder.answers).toEqual(["q-old", "run-1.q1"]);
    expect(my.recorder.of("approval_auto_approved")).toEqual([]);
  });

  it("takes an old agent's turn that ends as having read the answer, a dead agent as not", async () => {
    for (const [ending, taken] of [
      ["turn", ["run-1.q1"]],
      ["exit", []],
    ] as const) {
      const my = codexBench();
      const session = await my.open(policies("ask"));
      const { end, id } = await begin(my, session);
      const asked = my.server.ask("item/commandExecution/requestApproval", COMMAND);
      await until("it is open", () => my.recorder.open.at(-1) === 1);
      session.answer("run-1.q1", { accept: true, text: null });
      await my.server.answerTo(asked);
      if (ending === "turn") my.server.endTurn(id, "completed");
      else my.server.exit({ code: 1, signal: null });
      await end;
      expect(my.recorder.answers).toEqual(taken);
    }
  });

  it("puts a person's words where the protocol wants them", async () => {
    const my = codexBench();
    const session = await my.open(policies("ask"));
    await begin(my, session);
    const asked = my.server.ask("item/tool/requestUserInput", {
      questions: [{ id: "q", question: "Which?", options: [{ label: "A" }] }],
    });
    const question = await until("it is asked", () => my.recorder.questions.at(-1));
    session.answer(question.id, { accept: true, text: "neither" });
    expect(await my.server.answerTo(asked)).toEqual([
      { id: asked, result: { answers: { q: { answers: ["neither"] } } } },
    ]);
    const form = {
      serverName: "s",
      message: "Name?",
      requestedSchema: { properties: { name: { type: "string" } }, required: ["name"] },
    };
    const elicited = my.server.ask("mcpServer/elicitation/request", form);
    const next = await until("it is asked", () => my.recorder.questions.at(-1));
    session.answer(next.id, { accept: true, text: "Ada" });
    expect(await my.server.answerTo(elicited)).toEqual([
      { id: elicited, result: { action: "accept", content: { name: "Ada" }, _meta: null } },
    ]);
  });

  it("forgets the deadline of a question that was answered", async () => {
    const my = codexBench();
    const session = await my.open(policies("ask", 60_000));
    const { end, id } = await begin(my, session);
    const asked = my.server.ask("item/commandExecution/requestApproval", COMMAND);
    const question = await until("it is asked", () => my.recorder.questions.at(-1));
    session.answer(question.id, { accept: true, text: null });
    await my.server.answerTo(asked);
    await my.clock.advance(120_000);
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
    expect(my.recorder.of("approval_auto_approved")).toEqual([]);
  });

  it.each([
    ["a secret", { questions: [{ id: "q", question: "Password?", isSecret: true, options: [{ label: "hunter2" }] }] }],
    ["words of one's own", { questions: [{ id: "q", question: "Why?", options: null }] }],
    ["nothing", { questions: [] }],
  ])("has no answer by policy to a question for %s", async (_name, params) => {
    const my = codexBench();
    await begin(my, await my.open(policies("accept")));
    const asked = my.server.ask("item/tool/requestUserInput", params);
    expect(await my.server.answerTo(asked)).toEqual([{ id: asked, result: { answers: {} } }]);
  });

  it.each([
    ["a page to visit", { mode: "url", message: "Log in", url: "https://example.org" }],
    ["an identity to prove", { mode: "openai/userVerification", title: "Who?", challenge: "x" }],
  ])("accepts no %s by policy", async (_name, params) => {
    const my = codexBench();
    await begin(my, await my.open(policies("accept")));
    const asked = my.server.ask("mcpServer/elicitation/request", { serverName: "s", ...params });
    expect(await my.server.answerTo(asked)).toEqual([
      { id: asked, result: { action: "decline", content: null, _meta: null } },
    ]);
  });

  it("asks nobody when no turn is running", async () => {
    const my = codexBench();
    await my.open(policies("ask"));
    const asked = my.server.ask("item/commandExecution/requestApproval", COMMAND);
    expect(await my.server.answerTo(asked)).toEqual([{ id: asked, result: { decision: "decline" } }]);
    expect(my.recorder.questions).toEqual([]);
  });
});

describe("tool calls", () => {
  const tools = [{ name: "board", description: "", inputSchema: { type: "object" } }];

  it("are answered although the tool throws, or isn't one of ours", async () => {
    const my = codexBench();
    await begin(my, await my.open({ tools, callTool: () => Promise.reject(new Error("tracker down")) }));
    const thrown = my.server.ask("item/tool/call", { callId: "c1", tool: "board", arguments: {} });
    const unknown = my.server.ask("item/tool/call", { callId: "c2", tool: "nonsense", arguments: {} });
    expect(await my.server.answerTo(thrown)).toEqual([
      {
        id: thrown,
        result: { contentItems: [{ type: "inputText", text: "the tool failed: tracker down" }], success: false },
      },
    ]);
    expect(await my.server.answerTo(unknown)).toEqual([
      {
        id: unknown,
        result: {
          contentItems: [{ type: "inputText", text: "no tool named nonsense; there are: board" }],
          success: false,
        },
      },
    ]);
    expect(my.recorder.of("unsupported_tool_call")).toEqual([{ kind: "unsupported_tool_call", tool: "nonsense" }]);
  });

  it("get their arguments and call id, and count as open while they run", async () => {
    const my = codexBench();
    const called: unknown[] = [];
    const running = Promise.withResolvers<{ success: boolean; text: string }>();
    const callTool: SessionRequest["callTool"] = (...call) => {
      called.push(call);
      return running.promise;
    };
    await begin(my, await my.open({ tools, callTool }));
    const item = { id: "c1", type: "dynamicToolCall" };
    my.server.notify("item/started", { turnId: "turn-1", item });
    const asked = my.server.ask("item/tool/call", { callId: "c1", tool: "board", arguments: { action: "get" } });
    await until("it runs", () => called.length === 1);
    expect(called).toEqual([["board", "c1", { action: "get" }]]);
    expect(my.recorder.open.at(-1)).toBe(1);
    await my.clock.advance(250);
    running.resolve({ success: true, text: "häppy" });
    await my.server.answerTo(asked);
    expect(my.recorder.of("tool_call")).toEqual([
      { kind: "tool_call", tool: "board", callId: "c1", ok: true, durationMs: 250, bytes: 6 },
    ]);
    expect(my.recorder.open.at(-1)).toBe(0);
  });
});
