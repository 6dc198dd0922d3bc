/** One thread: its settings, turns and totals, and what the protocol shows of them. */
import { CLI_VERSION, COLLABORATION_MODE, MODEL, MODEL_PROVIDER, MULTI_AGENT_MODE } from "./identity.ts";
import type { SandboxPolicy } from "./params.ts";
import type { Item, RolloutStore, ThreadMeta, TurnError, TurnRecord, TurnStatus } from "./rollout.ts";
import { CONTEXT_WINDOW, NO_USAGE, type ThreadUsage } from "./usage.ts";
import type { Wire } from "./wire.ts";

type ThreadStatus = "idle" | "active" | "systemError" | "notLoaded";

/** A thread that this process has loaded. */
export class Thread {
  readonly #wire: Wire;
  readonly #store: RolloutStore;
  readonly #turns = new Map<string, TurnRecord>();
  #meta: ThreadMeta;
  #status: ThreadStatus = "idle";
  #usage: ThreadUsage = NO_USAGE;
  #usageTurnId: string | null = null;
  /** Variables of its commands, which the client set for this process's time (`shell_environment_policy.set`). */
  commandVariables: Readonly<Record<string, string>> = {};
  /** Model responses so far; invented token figures grow with it. */
  responses = 0;

  constructor(wire: Wire, store: RolloutStore, meta: ThreadMeta) {
    this.#wire = wire;
    this.#store = store;
    this.#meta = meta;
  }

  get id(): string {
    return this.#meta.id;
  }

  get meta(): ThreadMeta {
    return this.#meta;
  }

  get usage(): ThreadUsage {
    return this.#usage;
  }

  get turns(): readonly TurnRecord[] {
    return [...this.#turns.values()];
  }

  /** True once a turn has started: only then there is a rollout file. */
  get materialized(): boolean {
    return this.#turns.size > 0;
  }

  /** Takes over what a rollout file held. */
  restore(turns: readonly TurnRecord[], usage: { turnId: string; usage: ThreadUsage } | null): void {
    for (const turn of turns) this.#turns.set(turn.id, turn);
    this.responses = turns.reduce((sum, turn) => sum + turn.items.length, 0);
    if (usage !== null) {
      this.#usage = usage.usage;
      this.#usageTurnId = usage.turnId;
    }
  }

  /** Changes what later turns use; written down once the thread has a file. */
  update(change: Partial<ThreadMeta>): void {
    this.#meta = { ...this.#meta, ...change };
    if (this.materialized) this.#store.append(this.id, { fact: "thread", meta: this.#meta });
  }

  /** Writes a thread down that has no file yet: what is archived has one, turns or not (measured). */
  keep(): void {
    if (!this.#store.exists(this.id)) this.#store.append(this.id, { fact: "thread", meta: this.#meta });
  }

  beginTurn(turnId: string, startedAtMs: number): void {
    const first = !this.materialized;
    const turn: TurnRecord = {
      id: turnId,
      status: "inProgress",
      error: null,
      startedAtMs,
      completedAtMs: null,
      items: [],
    };
    this.#turns.set(turnId, turn);
    if (first) this.#store.append(this.id, { fact: "thread", meta: this.#meta });
    this.#store.append(this.id, { fact: "turn", turn });
  }

  endTurn(turnId: string, status: TurnStatus, error: TurnError | null): void {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) return;
    const ended: TurnRecord = { ...turn, status, error, completedAtMs: Date.now() };
    this.#turns.set(turnId, ended);
    this.#store.append(this.id, { fact: "turn", turn: { ...ended, items: [] } });
  }

  keepItem(turnId: string, item: Item): void {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) return;
    this.#turns.set(turnId, { ...turn, items: [...turn.items, item] });
    this.#store.append(this.id, { fact: "item", turnId, item });
  }

  notify(method: string, params: Readonly<Record<string, unknown>>): void {
    this.#wire.notify(method, { threadId: this.id, ...params });
  }

  /** A notification that belongs to no thread. */
  notifyGlobal(method: string, params: Readonly<Record<string, unknown>>): void {
    this.#wire.notify(method, params);
  }

  setStatus(status: ThreadStatus, activeFlags: readonly string[] = []): void {
    this.#status = status;
    this.notify("thread/status/changed", { status: this.#statusView(activeFlags) });
  }

  setUsage(turnId: string, usage: ThreadUsage): void {
    this.#usage = usage;
    this.#usageTurnId = turnId;
    this.#store.append(this.id, { fact: "usage", turnId, usage });
    this.repeatUsage();
  }

  /** Sends the totals again, as the real server does on resume, interrupt and steer; nothing (false) before the first response. */
  repeatUsage(): boolean {
    if (this.#usageTurnId === null) return false;
    const { total, last } = this.#usage;
    this.notify("thread/tokenUsage/updated", {
      turnId: this.#usageTurnId,
      tokenUsage: { total, last, modelContextWindow: CONTEXT_WINDOW },
    });
    return true;
  }

  #statusView(activeFlags: readonly string[]): Readonly<Record<string, unknown>> {
    return this.#status === "active" ? { type: "active", activeFlags } : { type: this.#status };
  }

  /** The `thread` object; with `turns` only where the protocol fills them in. */
  view(turns: readonly unknown[] = []): Readonly<Record<string, unknown>> {
    const { cwd, createdAt, originator, name } = this.#meta;
    return {
      id: this.id,
      environments: [{ environmentId: "local", cwd, runtimeWorkspaceRoots: [cwd] }],
      extra: null,
      sessionId: this.id,
      forkedFromId: null,
      attachedToThreadId: null,
      parentThreadId: null,
      preview: this.#preview(),
      ephemeral: false,
      section: null,
      sectionEnteredAt: null,
      projectId: null,
      historyMode: "paginated",
      modelProvider: MODEL_PROVIDER,
      model: MODEL,
      reasoningEffort: null,
      createdAt,
      updatedAt: Math.floor(Date.now() / 1000),
      recencyAt: Math.floor(Date.now() / 1000),
      status: this.#statusView([]),
      path: this.#store.path(this.id),
      cwd,
      cliVersion: CLI_VERSION,
      originator,
      source: "vscode",
      canAcceptDirectInput: true,
      threadSource: null,
      agentNickname: null,
      agentRole: null,
      gitInfo: null,
      name,
      daybreakEnabled: null,
      turns,
    };
  }

  /** The `thread` object of one that no process has loaded. */
  unloadedView(): Readonly<Record<string, unknown>> {
    return { ...this.view(), environments: null, status: { type: "notLoaded" } };
  }

  /** The result of thread/start and thread/resume. */
  sessionView(turns: readonly unknown[] = []): Readonly<Record<string, unknown>> {
    const { cwd, approvalPolicy, sandbox } = this.#meta;
    return {
      thread: this.view(turns),
      model: MODEL,
      modelProvider: MODEL_PROVIDER,
      serviceTier: null,
      disabledPluginIds: [],
      cwd,
      runtimeWorkspaceRoots: [cwd],
      instructionSources: [],
      approvalPolicy,
      approvalsReviewer: "user",
      sandbox,
      activePermissionProfile: null,
      reasoningEffort: null,
      multiAgentMode: MULTI_AGENT_MODE,
    };
  }

  /** The parameters of thread/settings/updated. */
  settingsView(): Readonly<Record<string, unknown>> {
    const { cwd, approvalPolicy, sandbox } = this.#meta;
    return {
      disabledPluginIds: [],
      cwd,
      environments: [{ environmentId: "local", cwd, runtimeWorkspaceRoots: [cwd] }],
      approvalPolicy,
      approvalsReviewer: "user",
      sandboxPolicy: sandbox,
      activePermissionProfile: null,
      model: MODEL,
      modelProvider: MODEL_PROVIDER,
      serviceTier: null,
      effort: null,
      summary: null,
      collaborationMode: COLLABORATION_MODE,
      multiAgentMode: MULTI_AGENT_MODE,
      personality: null,
    };
  }

  #preview(): string {
    const content = this.turns[0]?.items.find((item) => item.type === "userMessage")?.["content"];
    const first: unknown = Array.isArray(content) ? content[0] : undefined;
    return typeof first === "object" && first !== null && "text" in first ? String(first.text).slice(0, 200) : "";
  }
}

/** What comes back to `readOnly` in another process, as measured: a workspace-write thread. */
export function resumedSandbox(sandbox: SandboxPolicy): SandboxPolicy {
  return sandbox["type"] === "dangerFullAccess" ? sandbox : { type: "readOnly", networkAccess: false };
}

type ItemsView = "notLoaded" | "summary" | "full";

/** The `turn` object. `summary` in turn/completed holds the last agent message only. */
export function turnView(
  turn: TurnRecord,
  itemsView: ItemsView,
  items: readonly Item[] = [],
): Readonly<Record<string, unknown>> {
  const durationMs = turn.completedAtMs === null ? null : turn.completedAtMs - turn.startedAtMs;
  return {
    id: turn.id,
    rootTurnId: turn.id,
    items,
    itemsView,
    status: turn.status,
    error: turn.error,
    startedAt: Math.floor(turn.startedAtMs / 1000),
    completedAt: turn.completedAtMs === null ? null : Math.floor(turn.completedAtMs / 1000),
    durationMs,
  };
}
