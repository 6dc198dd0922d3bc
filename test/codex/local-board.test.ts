/** Issue to Done on the real app-server: a ticket of a local board, worked on over two turns of one thread. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { TokenCounts } from "../../src/domain/tokens.ts";
import { callTool, type ModelReply, runCommand, say, startResponsesServer } from "../fakes/responses-server.ts";
import { until } from "../support/until.ts";
import { DaemonBench } from "./daemon.ts";

const TICKET = `---
title: Write a greeting
state: Todo
---

Put one friendly line into greeting.txt.
`;

function tokens(n: number): TokenCounts {
  return { input: 1000 + n, cachedInput: 500 + n, output: 100 + n, reasoning: 10 + n };
}

/** What the model answers, request by request. */
const MODEL: readonly ModelReply[] = [
  runCommand("echo 'good morning' > greeting.txt && cat greeting.txt", tokens(1)),
  callTool("local_board", { action: "comment", body: "Wrote the greeting." }, tokens(2)),
  say("The file is written; the ticket still has to be moved.", tokens(3)),
  callTool("local_board", { action: "move", state: "Done" }, tokens(4)),
  say("Moved to Done.", tokens(5)),
];

test.each(["per_run", "shared"])(
  "a local-board ticket is worked on, continued on the same thread, moved to Done and cleaned up, codex.process: %s",
  async (process) => {
    const lastWord = Promise.withResolvers<void>();
    const model = await startResponsesServer(async ({ index }) => {
      // The last answer of the turn that moves the ticket comes only when the daemon knows that the ticket is done.
      if (index === MODEL.length - 1) await lastWord.promise;
      return MODEL[index] ?? say("nothing is left to do");
    });
    await using bench = await DaemonBench.make(model);
    try {
      const board = join(bench.dir, "board");
      const kept = join(bench.dir, "kept.txt");
      await mkdir(board);
      await writeFile(join(board, "HOME-1.md"), TICKET);
      bench.env["KEPT"] = kept;
      await bench.writeWorkflow(
        {
          tracker: { kind: "local", provider: { path: board } },
          hooks: { before_remove: 'cp greeting.txt "$KEPT"' },
          codex: { process },
        },
        "Ticket {{ issue.identifier }}: {{ issue.title }}\n\n{{ issue.description }}",
      );
      await bench.start();
      await until("the model is asked for its last word", () => model.requests.length === MODEL.length);
      await until("the daemon has seen that the ticket is done", async () => {
        const { running } = await bench.state();
        return Array.isArray(running) && running.some((row) => isRecord(row) && row["state"] === "Done");
      });
      lastWord.resolve();
      const [run] = await bench.endedRuns("HOME-1");
      expect(run).toMatchObject({ outcome: "succeeded", turns: 2, attempt: null, error: null });

      await until("the workspace is removed", async () => (await bench.workspaceNames()).length === 0);
      expect(await readFile(kept, "utf8")).toBe("good morning\n");
      const ticket = await readFile(join(board, "HOME-1.md"), "utf8");
      expect(ticket).toContain("state: Done");
      expect(ticket).toContain("Wrote the greeting.");

      // One thread: the continuation's requests hold the whole conversation, and its prompt doesn't repeat the ticket's.
      const [first, , , fourth] = model.requests;
      expect(first?.lastUserText).toContain("Put one friendly line into greeting.txt.");
      expect(fourth?.text).toContain("The file is written; the ticket still has to be moved.");
      expect(fourth?.lastUserText).not.toContain("Put one friendly line into greeting.txt.");
      expect(model.requests).toHaveLength(MODEL.length);

      const { input, cachedInput, output, reasoning } = model.reported;
      expect(run?.tokens).toMatchObject({ input, cached_input: cachedInput, output, reasoning, total: input + output });
      const usage = await bench.ask("usage");
      expect(isRecord(usage) && usage["total"]).toMatchObject({
        runs: 1,
        turns: 2,
        input_tokens: input,
        cached_input_tokens: cachedInput,
        output_tokens: output,
        reasoning_tokens: reasoning,
        total_tokens: input + output,
      });
      expect(await bench.stop()).toBe(0);
    } finally {
      lastWord.resolve();
      await model.close();
    }
  },
);

test("a turn that fails is a failed run with backoff, and another ticket still finishes", async () => {
  const model = await startResponsesServer(({ text, outputs }) => {
    if (text.includes("Ticket BAD-1")) return { kind: "status", status: 500, body: { error: { message: "broken" } } };
    if (outputs.length > 0) return say("Moved to Done.");
    return callTool("local_board", { action: "move", state: "Done" });
  });
  await using bench = await DaemonBench.make(model);
  try {
    const board = join(bench.dir, "board");
    await mkdir(board);
    for (const name of ["BAD-1", "GOOD-1"]) await writeFile(join(board, `${name}.md`), TICKET);
    await bench.writeWorkflow(
      { tracker: { kind: "local", provider: { path: board } }, agent: { max_concurrent_agents: 1 } },
      "Ticket {{ issue.identifier }}",
    );
    await bench.start();
    const [bad] = await bench.endedRuns("BAD-1");
    expect(bad).toMatchObject({ outcome: "failed", attempt: null, turns: 1 });
    const waiting = await until("the failed ticket waits", async () => {
      const { retrying } = await bench.state();
      const rows = Array.isArray(retrying) ? retrying.filter(isRecord) : [];
      return rows.find((row) => row["issue_identifier"] === "BAD-1" && row["due_at"] !== null);
    });
    expect(waiting).toMatchObject({ attempt: 1, error: expect.any(String) });
    // The first backoff is ten seconds and at most a tenth more; part of it has passed.
    const left = Date.parse(String(waiting["due_at"])) - Date.now();
    expect(left).toBeLessThanOrEqual(11_000);

    const [good] = await bench.endedRuns("GOOD-1");
    expect(good).toMatchObject({ outcome: "succeeded", turns: 1 });
    expect(await readFile(join(board, "GOOD-1.md"), "utf8")).toContain("state: Done");
    expect(await readFile(join(board, "BAD-1.md"), "utf8")).toContain("state: Todo");

    const again = await until("the failed ticket is tried again", async () =>
      (await bench.runs()).find((run) => run.issue_identifier === "BAD-1" && run.attempt === 1),
    );
    expect(again.run_id).not.toBe(bad?.run_id);
    expect(await bench.stop()).toBe(0);
  } finally {
    await model.close();
  }
});
