/** The Linear adapter on a local Linear server of its own. */
import type { Settings } from "../../src/domain/settings.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLinearTracker } from "../../src/tracker/linear/adapter.ts";
import { linearDescriptor } from "../../src/tracker/linear/descriptor.ts";
import type { Tracker } from "../../src/tracker/port.ts";
import type { Carried } from "../../src/tracker/registry.ts";
import { resolveReference } from "../../src/workflow/references.ts";
import { startLinearServer } from "../fakes/linear/server.ts";
import type { LinearServer, LinearServerOptions } from "../fakes/linear/server.ts";
import { captureLog } from "./captured-log.ts";
import type { CapturedLog } from "./captured-log.ts";
import { makeSettings } from "./issues.ts";

export interface LinearBench extends AsyncDisposable {
  readonly server: LinearServer;
  readonly tracker: Tracker;
  readonly log: CapturedLog;
  dispose(): Promise<void>;
}

/** Settings whose provider is what the descriptor makes of `raw` for that server. */
function linearSettings(server: LinearServer, raw: Readonly<Record<string, unknown>> = {}): Settings {
  const env = { LINEAR_API_KEY: server.apiKey };
  const { provider, secrets } = linearDescriptor.parseProvider({
    raw: { endpoint: server.url, project_slug: "demo", ...raw },
    resolve: (value) => resolveReference(value, env),
    env,
    baseDir: "/",
  });
  const base = makeSettings({ rest: { secrets } });
  return { ...base, tracker: { ...base.tracker, kind: "linear", provider } };
}

interface AdapterOptions {
  readonly clock?: Clock;
  readonly log?: CapturedLog;
  /** What an adapter before it has left. */
  readonly carried?: Carried;
  /** Instead of the default states. */
  readonly states?: { readonly activeStates?: readonly string[]; readonly terminalStates?: readonly string[] };
}

/** An adapter on a server that is there already. */
export async function linearTrackerOn(
  server: LinearServer,
  raw: Readonly<Record<string, unknown>> = {},
  { clock = systemClock, log = captureLog(), carried = {}, states = {} }: AdapterOptions = {},
): Promise<Tracker> {
  const settings = linearSettings(server, raw);
  const tracker = { ...settings.tracker, ...states };
  return createLinearTracker({ settings: { ...settings, tracker }, clock, log: log.log, carried });
}

/** A server with an empty board, and an adapter on it. */
export async function startLinearBench(
  options: {
    readonly server?: LinearServerOptions;
    readonly provider?: Readonly<Record<string, unknown>>;
    readonly clock?: Clock;
  } = {},
): Promise<LinearBench> {
  const server = await startLinearServer(options.server);
  const log = captureLog();
  const tracker = await linearTrackerOn(server, options.provider, { clock: options.clock ?? systemClock, log });
  const dispose = async (): Promise<void> => {
    await tracker.close();
    await server.close();
  };
  return { server, tracker, log, dispose, [Symbol.asyncDispose]: dispose };
}
