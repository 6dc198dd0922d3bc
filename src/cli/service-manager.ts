/** Tells systemd how the daemon is (sd_notify): ready, alive, stopping. Where no manager asks for it, nothing happens. */
import { execa } from "execa";
import { errorMessage } from "../domain/errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

export interface ServiceManagerDeps {
  /** The daemon's own environment; what systemd put in is taken out, so that no hook or agent can speak for the daemon. */
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Log;
}

/** What systemd gives a service that it waits for (sd_notify(3), sd_watchdog_enabled(3)). */
const VARIABLES = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;
/** A message that can't be told in this time won't be. */
const TELL_TIMEOUT_MS = 10_000;

/** Messages go out in their order. The signs of life come from the event loop that does the work: a daemon that hangs sends none. */
export class ServiceManager {
  readonly #deps: ServiceManagerDeps;
  readonly #env: Readonly<Record<string, string>> | null;
  readonly #watchdogMs: number | null;
  #timer: Timer | null = null;
  #told: Promise<void> = Promise.resolve();

  /** Takes systemd's variables out of `env`. */
  constructor(deps: ServiceManagerDeps) {
    this.#deps = deps;
    const { PATH, NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = deps.env;
    this.#env = NOTIFY_SOCKET === undefined ? null : { NOTIFY_SOCKET, ...(PATH === undefined ? {} : { PATH }) };
    const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(process.pid);
    const microseconds = Number(WATCHDOG_USEC);
    // Half the time, as sd_watchdog_enabled(3) advises.
    this.#watchdogMs = isOurs && microseconds > 0 ? microseconds / 2000 : null;
    for (const name of VARIABLES) delete deps.env[name];
  }

  /** The daemon is up; from now on signs of life are sent where they are waited for. */
  ready(): void {
    this.#tell("READY=1");
    this.#beat();
  }

  /** The daemon stops; it goes on sending signs of life until {@link close}. */
  stopping(): void {
    this.#tell("STOPPING=1");
  }

  /** Sends no more, and waits until the last message is out. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    await this.#told;
  }

  #beat(): void {
    if (this.#env === null || this.#watchdogMs === null) return;
    this.#timer = this.#deps.clock.setTimer(this.#watchdogMs, () => {
      this.#tell("WATCHDOG=1");
      this.#beat();
    });
  }

  #tell(message: string): void {
    const env = this.#env;
    if (env !== null) this.#told = this.#told.then(() => this.#send(env, message));
  }

  async #send(env: Readonly<Record<string, string>>, message: string): Promise<void> {
    try {
      await execa("systemd-notify", ["--no-block", message], { env, extendEnv: false, timeout: TELL_TIMEOUT_MS });
    } catch (error) {
      const fields = { reason: errorMessage(error), message };
      this.#deps.log.warn(fields, "systemd can't be told; is systemd-notify on the PATH?");
    }
  }
}
