/** Tells the addresses of `notify.webhooks` what people want to know: gathered for a moment, signed, and tried again when nobody answers. */
import { createHmac, randomUUID } from "node:crypto";
import { errorMessage } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Service } from "../../lib/service.ts";
import type { State } from "../../scheduler/state.ts";
import { noticesBetween, standing, type Notice } from "./notices.ts";

export interface NotifierDeps {
  readonly clock: Clock;
  readonly log: Log;
  settings(): Settings;
  state(): State;
  /** Takes known secret values out of a text. */
  redact(text: string): string;
}

/** Ten tickets that block together are one message; what is over within this time is none. */
const GATHER_MS = 2_000;
/** A pause that comes and goes is told once in this time. */
const QUIET_MS = 60_000;
const ANSWER_TIMEOUT_MS = 10_000;
/** Waits before the second and each later try. */
const RETRY_AFTER_MS = [1_000, 5_000, 25_000, 125_000] as const;
/** At a stop, what is still to be said has so long. */
const FAREWELL_MS = 5_000;
/** Of a ticket's words, in a message. */
const MESSAGE_CHARS = 1_000;

export class Notifier implements Service {
  readonly #deps: NotifierDeps;
  readonly #waiting = new Map<string, Notice>();
  readonly #toldAt = new Map<string, number>();
  readonly #sending = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #seen: State | null = null;
  #timer: Timer | null = null;

  constructor(deps: NotifierDeps) {
    this.#deps = deps;
  }

  /** The daemon is up. */
  start(): Promise<void> {
    if (this.#seen !== null) return Promise.resolve();
    this.#seen = this.#deps.state();
    const { workflowPath } = this.#deps.settings();
    this.#note([
      { kind: "daemon_up", key: "daemon", message: `the daemon for ${workflowPath} is up`, issue: null },
      ...standing(this.#seen),
    ]);
    return Promise.resolve();
  }

  /** The state has moved: to be called after each change. */
  changed(): void {
    const before = this.#seen;
    if (before === null) return;
    this.#seen = this.#deps.state();
    if (this.#deps.settings().notify.webhooks.length > 0) this.#note(noticesBetween(before, this.#seen));
  }

  /** Says that the daemon goes down, and waits a little for what is still on its way. */
  async stop(): Promise<void> {
    if (this.#seen === null || this.#closed.signal.aborted) return;
    const { clock, settings } = this.#deps;
    const message = `the daemon for ${settings().workflowPath} has stopped`;
    this.#waiting.delete("daemon");
    this.#toldAt.clear();
    this.#note([{ kind: "daemon_down", key: "daemon", message, issue: null }]);
    this.#timer?.cancel();
    this.#send();
    const farewell = new AbortController();
    const enough = clock.sleep(FAREWELL_MS, farewell.signal).catch(() => undefined);
    await Promise.race([Promise.all(this.#sending), enough]);
    farewell.abort();
    this.#closed.abort(new Error("the daemon stops"));
    await Promise.all(this.#sending);
  }

  #note(notices: readonly Notice[]): void {
    if (notices.length === 0) return;
    for (const notice of notices) {
      // What is over before it was told is nothing to tell.
      const isOver = notice.kind === "pause_ended" || notice.kind === "tracker_up";
      if (isOver && this.#waiting.delete(notice.key)) continue;
      this.#waiting.set(notice.key, notice);
    }
    this.#timer ??= this.#deps.clock.setTimer(GATHER_MS, () => this.#send());
  }

  #send(): void {
    this.#timer = null;
    const { clock, settings } = this.#deps;
    const now = clock.now();
    const due = [...this.#waiting.values()].filter((notice) => this.#isDue(notice, now));
    this.#waiting.clear();
    if (due.length === 0) return;
    const { webhooks, secret } = settings().notify;
    const body = this.#body(due, now);
    for (const url of webhooks) {
      const sending = this.#deliver(url, body, secret).finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
  }

  #isDue({ kind, key, message }: Notice, now: number): boolean {
    const subject = `${kind} ${key} ${message}`;
    for (const [told, at] of this.#toldAt) if (now - at >= QUIET_MS) this.#toldAt.delete(told);
    if (this.#toldAt.has(subject)) return false;
    this.#toldAt.set(subject, now);
    return true;
  }

  #body(notices: readonly Notice[], now: number): string {
    const { redact, settings } = this.#deps;
    const say = (text: string): string => redact(text).slice(0, MESSAGE_CHARS);
    const told = notices.map(({ kind, message, issue }) => ({
      kind,
      message: say(message),
      issue:
        issue === null ? null : { id: issue.id, identifier: issue.identifier, title: say(issue.title), url: issue.url },
    }));
    return JSON.stringify({
      // What chat services show.
      text: told.map(({ message }) => message).join("\n"),
      delivery: randomUUID(),
      at: new Date(now).toISOString(),
      workflow: settings().workflowPath,
      notices: told,
    });
  }

  /** Never rejects: an address that doesn't answer is a warning. The address itself may hold a key, so only its host is named. */
  async #deliver(url: string, body: string, secret: string | null): Promise<void> {
    const { clock, log } = this.#deps;
    const { host } = new URL(url);
    const { signal } = this.#closed;
    for (let attempt = 0; ; attempt += 1) {
      const problem = await this.#post(url, body, secret);
      if (problem === null) return;
      const wait = RETRY_AFTER_MS[attempt];
      if (wait === undefined || !problem.again || signal.aborted) {
        log.warn({ host, reason: problem.reason, tries: attempt + 1 }, "a notice couldn't be delivered");
        return;
      }
      await clock.sleep(wait, signal).catch(() => undefined);
    }
  }

  async #post(url: string, body: string, secret: string | null): Promise<{ reason: string; again: boolean } | null> {
    const { clock, redact } = this.#deps;
    const deadline = new AbortController();
    const timer = clock.setTimer(ANSWER_TIMEOUT_MS, () => deadline.abort(new Error("no answer")));
    const signed = secret === null ? {} : { "symphony-signature": signatureOf(body, secret) };
    const headers = { "content-type": "application/json", ...signed };
    try {
      const signal = AbortSignal.any([deadline.signal, this.#closed.signal]);
      const { status, body: answer } = await fetch(url, { method: "POST", headers, body, redirect: "error", signal });
      await answer?.cancel();
      if (status < 300) return null;
      return { reason: `status ${status}`, again: status >= 500 || status === 429 || status === 408 };
    } catch (error) {
      return { reason: redact(errorMessage(error)), again: true };
    } finally {
      timer.cancel();
    }
  }
}

/** HMAC-SHA256 of the raw body, in hex. */
function signatureOf(body: string, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}
