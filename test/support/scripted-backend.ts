/** An agent backend whose turns a test ends by hand: a fake at the port, for what the runner makes of each ending. */
import type {
  AgentBackend,
  AgentCheck,
  AgentSession,
  SessionRequest,
  TurnEnd,
  TurnRequest,
} from "../../src/agent/port.ts";
import { until } from "./until.ts";

/** A turn that is going on. */
export interface OpenTurn {
  readonly request: TurnRequest;
  end(end: TurnEnd): void;
}

export class ScriptedBackend implements AgentBackend {
  readonly name = "scripted";
  readonly sessions: SessionRequest[] = [];
  readonly turns: OpenTurn[] = [];
  closed = 0;
  interrupts = 0;
  /** Messages that a running turn has taken. */
  readonly steered: string[] = [];
  /** As if no turn were running. */
  refuseSteer = false;
  compactions = 0;
  /** How a compaction ends. */
  compaction: TurnEnd = { kind: "completed" };
  /** Why a bound thread is left for a fresh one; null: it is resumed. */
  replaced: string | null = null;
  /** Thrown instead of opening the next session. */
  refuse: Error | null = null;
  readonly #waiting: ((turn: OpenTurn) => void)[] = [];

  async open(request: SessionRequest): Promise<AgentSession> {
    this.sessions.push(request);
    if (this.refuse !== null) throw this.refuse;
    const resumed = request.threadId !== null && this.replaced === null;
    const threadId = (resumed ? request.threadId : null) ?? `thread-${this.sessions.length}`;
    request.listener.spawned({ pid: 4242, processGroup: 4242, startTime: "1", marker: request.runMarker });
    request.listener.event({
      kind: "session_started",
      threadId,
      resumed,
      model: "m-1",
      agentVersion: "0.171.0",
    });
    let current: OpenTurn | null = null;
    return {
      threadId,
      resumed,
      replaced: request.threadId === null ? null : this.replaced,
      binding: {
        cwd: request.workspacePath,
        home: "/agent/home",
        modelProvider: "p-1",
        model: "m-1",
        effort: null,
        agentVersion: "0.171.0",
        tools: "none",
      },
      agentVersion: "0.171.0",
      runTurn: (turn) => {
        const ended = Promise.withResolvers<TurnEnd>();
        current = { request: turn, end: ended.resolve };
        this.turns.push(current);
        request.listener.event({ kind: "turn_started", turnId: `turn-${this.turns.length}` });
        this.#waiting.shift()?.(current);
        return ended.promise;
      },
      steer: async (text) => {
        if (current === null || this.refuseSteer) throw new Error("no turn");
        this.steered.push(text);
      },
      interrupt: async () => {
        this.interrupts += 1;
        current?.end({ kind: "interrupted" });
      },
      compact: async () => {
        this.compactions += 1;
        return this.compaction;
      },
      answer: () => false,
      close: async () => {
        this.closed += 1;
      },
    };
  }

  async check(): Promise<AgentCheck> {
    const unknown = { state: "unknown", message: "scripted" } as const;
    return { version: "0.171.0", login: unknown, sandbox: unknown, warnings: [] };
  }

  async close(): Promise<void> {
    // Nothing is kept beyond the sessions.
  }

  /** The turn of this number, from 1, once it has started. */
  turn(number: number): Promise<OpenTurn> {
    return until(`turn ${number} has started`, () => this.turns[number - 1] ?? null);
  }

  /** The next turn that starts; turns that were started before are passed over. */
  nextTurn(): Promise<OpenTurn> {
    const next = Promise.withResolvers<OpenTurn>();
    this.#waiting.push(next.resolve);
    return next.promise;
  }
}
