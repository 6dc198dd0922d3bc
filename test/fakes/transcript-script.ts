/** Turns a recorded session into a script for the simulated agent, so that both can be shown to one client. */
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { readTranscript } from "./transcript-host.ts";

type Entry = ReturnType<typeof readTranscript>[number];
type Fields = Readonly<Record<string, unknown>>;

/** What the client did in a turn: nothing but wait, or interrupt it once it had come so far. */
export interface RecordedTurn {
  readonly steps: readonly Fields[];
  readonly isCompaction: boolean;
  readonly isInterrupted: boolean;
}

interface Draft {
  steps: Fields[];
  isCompaction: boolean;
  isInterrupted: boolean;
}

const ASKS: Readonly<Record<string, string>> = {
  "item/commandExecution/requestApproval": "command",
  "item/fileChange/requestApproval": "file_change",
  "item/permissions/requestApproval": "permissions",
  "item/tool/requestUserInput": "question",
  "mcpServer/elicitation/request": "elicitation",
};

/** The turns of the session's own thread, each as the steps that make the same of it. */
export function turnsOf(transcript: readonly Entry[]): readonly RecordedTurn[] {
  const reader = new TurnReader(transcript);
  for (const entry of transcript) reader.take(entry);
  return reader.turns;
}

class TurnReader {
  readonly turns: Draft[] = [];
  readonly #successes: ReadonlyMap<unknown, unknown>;
  #threadId: unknown = null;
  #open: Draft | null = null;
  #total = { input: 0, output: 0 };
  #hasCompletedTool = true;

  constructor(transcript: readonly Entry[]) {
    const answers = transcript.filter(({ dir, msg }) => dir === "send" && msg.method === undefined);
    this.#successes = new Map(answers.map(({ msg }) => [msg.id, isRecord(msg.result) ? msg.result["success"] : false]));
  }

  take({ dir, msg }: Entry): void {
    if (dir === "send") return this.#sent(msg.method);
    const result = isRecord(msg.result) ? msg.result["thread"] : undefined;
    if (isRecord(result)) this.#threadId ??= result["id"];
    const params = msg.params ?? {};
    if (msg.method === undefined || (params["threadId"] ?? this.#threadId) !== this.#threadId) return;
    this.#received(msg.method, params, msg.id);
  }

  #sent(method: string | undefined): void {
    if (method === "turn/start" || method === "thread/compact/start") {
      this.#open = { steps: [], isCompaction: method !== "turn/start", isInterrupted: false };
      this.turns.push(this.#open);
    }
  }

  #received(method: string, params: Fields, id: unknown): void {
    if (method === "thread/tokenUsage/updated") return this.#tokens(params);
    const turn = this.#open;
    if (turn === null) return;
    const about = ASKS[method];
    if (about !== undefined) turn.steps.push({ do: "ask", about, tokens: null });
    else if (method === "item/tool/call") this.#call(turn, params, id);
    else if (method === "item/completed" && isRecord(params["item"])) this.#item(turn, params["item"]);
    else if (method === "account/rateLimits/updated") this.#limits(turn, params["rateLimits"]);
    else if (method === "error" && params["willRetry"] === true) turn.steps.push({ do: "reconnecting" });
    else if (method === "turn/completed" && isRecord(params["turn"])) this.#end(turn, params["turn"]);
  }

  #call(turn: Draft, params: Fields, id: unknown): void {
    const call = { tool: params["tool"], arguments: params["arguments"] };
    const last = turn.steps.at(-1);
    if (!this.#hasCompletedTool && last?.["do"] === "tool") {
      turn.steps.splice(-1, 1, {
        do: "parallel",
        calls: [{ tool: last["tool"], arguments: last["arguments"] }, call],
        tokens: null,
      });
    } else if (!this.#hasCompletedTool && Array.isArray(last?.["calls"])) {
      turn.steps.splice(-1, 1, { ...last, calls: [...(last["calls"] as readonly unknown[]), call] });
    } else {
      turn.steps.push({ do: "tool", ...call, may_fail: this.#successes.get(id) !== true, tokens: null });
    }
    this.#hasCompletedTool = false;
  }

  #item(turn: Draft, item: Fields): void {
    switch (item["type"]) {
      case "agentMessage":
        turn.steps.push({ do: "say", text: item["text"], tokens: null });
        return;
      case "reasoning":
        turn.steps.push({ do: "think", text: [item["summary"]].flat().join("\n") });
        return;
      case "dynamicToolCall":
        this.#hasCompletedTool = true;
        return;
      case "commandExecution":
        if (turn.steps.at(-1)?.["about"] !== "command") {
          const failed = item["status"] === "failed";
          turn.steps.push({ do: "shell", command: failed ? "exit 1" : "sleep 0.1", may_fail: failed, tokens: null });
        }
        return;
      default:
    }
  }

  #limits(turn: Draft, limits: unknown): void {
    const primary = isRecord(limits) ? limits["primary"] : null;
    if (!isRecord(primary)) return;
    const aheadMs = Number(primary["resetsAt"]) * 1000 - Date.now();
    // A time that was to come then may be over by now, which tells no more than none.
    const resetsInMs = aheadMs > 0 ? aheadMs : null;
    turn.steps.push({ do: "rate_limits", used_percent: primary["usedPercent"], resets_in_ms: resetsInMs });
  }

  /** What a response cost belongs to the step that it was. */
  #tokens(params: Fields): void {
    const usage = isRecord(params["tokenUsage"]) ? params["tokenUsage"]["total"] : null;
    if (!isRecord(usage)) return;
    const total = { input: Number(usage["inputTokens"]), output: Number(usage["outputTokens"]) };
    const cost = { input: total.input - this.#total.input, output: total.output - this.#total.output };
    this.#total = total;
    const last = this.#open?.steps.at(-1);
    if (cost.input <= 0 || this.#open === null) return;
    if (last?.["tokens"] === null) this.#open.steps.splice(-1, 1, { ...last, tokens: cost });
    else this.#open.steps.push({ do: "tokens", ...cost });
  }

  #end(turn: Draft, view: Fields): void {
    const error = view["error"];
    if (view["status"] === "interrupted") {
      turn.isInterrupted = true;
      if (turn.steps.at(-1)?.["do"] !== "tool") turn.steps.push({ do: "hang" });
    } else if (isRecord(error)) {
      const info = error["codexErrorInfo"];
      turn.steps.push(
        info === "contextWindowExceeded" ? { do: "overflow" } : { do: "fail", message: error["message"], error: info },
      );
    }
    this.#open = null;
    this.#hasCompletedTool = true;
  }
}
