/** `symphony status --watch` and `symphony top`: the status as it changes, on a terminal or line by line, over restarts of the daemon. */
import { AppError, errorMessage } from "../domain/errors.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { followDaemon, type DaemonAddress } from "./control-client.ts";
import type { ControlOptions } from "./control.ts";
import { printJson, printLines } from "./output.ts";
import { listenForQuit, Screen, type Paper } from "./screen.ts";
import { readStatus, status, statusLines, type Status } from "./status.ts";
import { listenForStop } from "./stop-signals.ts";
import { plainLine } from "./terminal-text.ts";

/** Between two tries to find a daemon that has gone. */
const RETRY_MS = 2000;
/** Ages on the screen move. */
const REPAINT_MS = 1000;

/** A snapshot, or why there is none just now. */
type Sight = { readonly snapshot: unknown } | { readonly lost: string };

/** Shows the status until it is told to stop; answers the exit code. Rejects with AppError `daemon_unreachable` when no daemon runs at first. */
export async function watchStatus(options: ControlOptions): Promise<number> {
  const stop = new AbortController();
  using ends = new DisposableStack();
  ends.use(listenForEnd(() => stop.abort()));
  if (!options.json && process.stdout.isTTY) return await watchOnScreen(options, stop, process.stdout);
  for await (const sight of watchDaemon(options, systemClock, stop.signal)) {
    if ("lost" in sight) process.stderr.write(`symphony: ${plainLine(sight.lost)}\n`);
    else if (options.json) printJson(sight.snapshot);
    else {
      const shown = readStatus(sight.snapshot);
      printLines([...statusLines(shown, Date.parse(shown.generated_at)), ""]);
    }
  }
  return 0;
}

/** On a terminal as {@link watchStatus}, else the status once. */
export function top(options: ControlOptions): Promise<number> {
  return process.stdout.isTTY && !options.json ? watchStatus(options) : status(options);
}

async function watchOnScreen(options: DaemonAddress, stop: AbortController, paper: Paper): Promise<number> {
  const page = new StatusPage(systemClock);
  const sights = watchDaemon(options, systemClock, stop.signal);
  // Without a daemon it ends here, before the screen is taken.
  const first = await sights.next();
  using ends = new DisposableStack();
  const screen = ends.use(new Screen(paper));
  if (process.stdin.isTTY) ends.use(listenForQuit(process.stdin, () => stop.abort()));
  const paint = (): void => page.paint(screen);
  process.stdout.on("resize", paint);
  ends.defer(() => process.stdout.off("resize", paint));
  const ticking = tick(paint, stop.signal);
  if (first.done !== true) page.see(first.value);
  paint();
  for await (const sight of sights) {
    page.see(sight);
    paint();
  }
  stop.abort();
  await ticking;
  return 0;
}

async function tick(paint: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await systemClock.sleep(REPAINT_MS, signal);
      paint();
    } catch {
      return; // Aborted: the watch is over.
    }
  }
}

/** What the screen shows: the newest status, with ages that go on between two snapshots. */
export class StatusPage {
  readonly #clock: Clock;
  #shown: Status | null = null;
  #seenAt = 0;
  #lost: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  see(sight: Sight): void {
    this.#lost = "lost" in sight ? sight.lost : null;
    if ("lost" in sight) return;
    this.#shown = readStatus(sight.snapshot);
    this.#seenAt = this.#clock.now();
  }

  paint(screen: Pick<Screen, "paint">): void {
    if (this.#shown === null) return;
    const now = Date.parse(this.#shown.generated_at) + this.#clock.now() - this.#seenAt;
    const bottom = this.#lost === null ? "q ends" : `${plainLine(this.#lost)}; q ends`;
    screen.paint(statusLines(this.#shown, now), bottom);
  }
}

/** Snapshots as they come; a daemon that goes is waited for. Rejects when none runs at first. */
async function* watchDaemon(address: DaemonAddress, clock: Clock, signal: AbortSignal): AsyncGenerator<Sight, void> {
  let wasThere = false;
  while (!signal.aborted) {
    let lost = "the daemon has ended; waiting for it to come back";
    try {
      for await (const { event, data } of followDaemon(address, null, signal)) {
        if (event !== "snapshot") continue;
        wasThere = true;
        yield { snapshot: data };
      }
    } catch (error) {
      if (!wasThere || !(error instanceof AppError)) throw error;
      lost = errorMessage(error);
    }
    if (signal.aborted) return;
    yield { lost };
    await clock.sleep(RETRY_MS, signal).catch(() => undefined);
  }
}

/** Ctrl-C ends a watch as it is meant to end: exit code 0. */
export function listenForEnd(end: () => void): Disposable {
  return listenForStop({ drain: end, kill: end, hangup: end }, { clock: systemClock, terminal: true });
}
