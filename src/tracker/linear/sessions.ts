/** The runs of this adapter as Linear's agent sessions (`provider.agent_sessions`): one for each run, opened by us or by Linear itself. */
import { errorMessage } from "../../domain/errors.ts";
import type { IssueId, RunId } from "../../domain/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { RunSessionEnd, RunSessions } from "../port.ts";
import type { LinearClient } from "./client.ts";
import { SESSION_DOCUMENT, VIEWER_DOCUMENT } from "./documents.ts";
import { readIsApp, readSessionId } from "./records.ts";
import { Session } from "./session.ts";

/** What is still to be said when the daemon stops has this long. */
const CLOSE_WITHIN_MS = 5_000;
/** Sessions that wait for a run that may never come; the oldest are forgotten beyond this many. */
const MAX_WAITING = 500;
/** The label of the link to the daemon's own page. */
const LINK_LABEL = "Symphony";

const NO_APP = "tracker.provider.agent_sessions has no effect: the credential is a person's, not an application's";

export interface SessionsDeps {
  readonly client: LinearClient;
  readonly clock: Clock;
  readonly log: Log;
}

interface Run {
  readonly issueId: IssueId;
  readonly session: Session;
}

export class LinearSessions implements RunSessions {
  readonly #deps: SessionsDeps;
  readonly #closed = new AbortController();
  readonly #runs = new Map<RunId, Run>();
  /** Sessions that wait for their issue's next run: Linear has opened them, or a question was asked in them. */
  readonly #waiting = new Map<IssueId, Session>();
  /** Those in which something may be under way. */
  readonly #open = new Set<Session>();
  #isApp: Promise<boolean> | null = null;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  began({ runId, issueId, url }: Parameters<RunSessions["began"]>[0]): void {
    const adopted = this.#waiting.get(issueId);
    this.#waiting.delete(issueId);
    const session = adopted ?? this.#make(this.#openFor(issueId, url));
    this.#runs.set(runId, { issueId, session });
    if (adopted !== undefined && url !== null) session.link(LINK_LABEL, url);
    session.say({ type: "thought", body: "The work on this issue has begun." });
  }

  progressed(runId: RunId, text: string): void {
    if (text.trim() !== "") this.#runs.get(runId)?.session.think(text);
  }

  planned(runId: RunId, text: string): void {
    this.#runs.get(runId)?.session.plan(text);
  }

  asked(runId: RunId, question: string): void {
    this.#runs.get(runId)?.session.say({ type: "elicitation", body: question });
  }

  ended(runId: RunId, { kind, text }: RunSessionEnd): void {
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    const { session, issueId } = run;
    this.#runs.delete(runId);
    session.finish();
    if (text !== null) session.say({ type: TYPE_OF_END[kind], body: text });
    if (kind === "asked") this.#waiting.set(issueId, session);
    else this.#forget(session);
  }

  adopt(issueId: IssueId, sessionId: string): void {
    const running = [...this.#runs.values()].find((run) => run.issueId === issueId);
    if (running === undefined) this.#hold(issueId, sessionId);
    else void this.#tellRunning(running, sessionId);
  }

  #hold(issueId: IssueId, sessionId: string): void {
    const session = this.#make(Promise.resolve(sessionId));
    this.#waiting.set(issueId, session);
    // Linear takes an agent that says nothing within ten seconds for unresponsive.
    session.say({ type: "thought", body: "Seen. The work begins when the issue is active and there is room for it." });
    if (this.#waiting.size <= MAX_WAITING) return;
    for (const [oldest, unused] of this.#waiting) {
      this.#waiting.delete(oldest);
      this.#forget(unused);
      return;
    }
  }

  /** Linear may tell of the session that we have opened for the run ourselves, even before it has answered. */
  async #tellRunning({ session }: Run, sessionId: string): Promise<void> {
    if ((await session.id) === sessionId) return;
    this.reply(sessionId, "The work on this issue is under way in another session.");
  }

  reply(sessionId: string, text: string): void {
    const session = this.#make(Promise.resolve(sessionId));
    session.say({ type: "thought", body: text });
    this.#forget(session);
  }

  /** Waits a little for what is still to be said. */
  async close(): Promise<void> {
    const { clock } = this.#deps;
    const timer = clock.setTimer(CLOSE_WITHIN_MS, () => this.#closed.abort(new Error("the daemon stops")));
    for (const { session } of this.#runs.values()) session.finish();
    await Promise.all([...this.#open].map((session) => session.settled()));
    timer.cancel();
    this.#closed.abort(new Error("the daemon stops"));
  }

  #make(id: Promise<string | null>): Session {
    const { client, clock, log } = this.#deps;
    const failed = (error: unknown): void =>
      log.warn({ reason: errorMessage(error) }, "Linear agent session not updated");
    const session = new Session(id, { client, clock, signal: this.#closed.signal, failed });
    this.#open.add(session);
    return session;
  }

  #forget(session: Session): void {
    void session.settled().then(() => this.#open.delete(session));
  }

  /** Null where there is none: the credential is no application's, or Linear doesn't answer. It isn't tried twice, so as to open no two. */
  async #openFor(issueId: IssueId, url: string | null): Promise<string | null> {
    const { client, log } = this.#deps;
    const { signal } = this.#closed;
    try {
      this.#isApp ??= this.#askWhetherApp();
      if (!(await this.#isApp)) return null;
      const externalUrls = url === null ? [] : [{ label: LINK_LABEL, url }];
      const variables = { input: { issueId, externalUrls } };
      return readSessionId(await client.query({ document: SESSION_DOCUMENT, variables, lane: "tool_change", signal }));
    } catch (error) {
      log.warn({ issueId, reason: errorMessage(error) }, "Linear agent session not opened");
      return null;
    }
  }

  async #askWhetherApp(): Promise<boolean> {
    const { client, log } = this.#deps;
    const { signal } = this.#closed;
    try {
      const isApp = readIsApp(await client.query({ document: VIEWER_DOCUMENT, variables: {}, lane: "aside", signal }));
      if (!isApp) log.warn(NO_APP);
      return isApp;
    } catch (error) {
      this.#isApp = null;
      throw error;
    }
  }
}

const TYPE_OF_END = { done: "response", failed: "error", asked: "elicitation" } as const;
