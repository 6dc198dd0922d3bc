/** The shared processes of a daemon: gives each session a place, and starts a process where there is none. */
import type { Settings } from "../../domain/settings.ts";
import { SessionStartError } from "../port.ts";
import { agentEnvironment } from "./environment.ts";
import { failureOfLaunch } from "./failures.ts";
import { closeOnAbort, startCancelled, type Launched, type LaunchRequest } from "./launch.ts";
import type { Started } from "./session.ts";
import type { SharedPart } from "./shared-part.ts";
import { commandsOf, SharedProcess, type SharedProcessDeps } from "./shared-process.ts";

export class SharedProcesses {
  readonly #deps: SharedProcessDeps;
  /** With what each was started. */
  readonly #processes = new Map<SharedProcess, string>();
  #closed = false;

  constructor(deps: SharedProcessDeps) {
    this.#deps = deps;
  }

  /** A place in a process that was started with what this run wants. Rejects with SessionStartError; by then the place is free again. */
  async join(request: LaunchRequest): Promise<Started> {
    const { settings, signal, runMarker } = request;
    if (this.#closed || signal.aborted) throw new SessionStartError(failureOfLaunch(startCancelled(), settings));
    const process = this.#find(settings);
    const part = process.join(request);
    let leaving: Promise<void> | null = null;
    const connection = { channel: part, stop: () => (leaving ??= process.leave(part)) };
    try {
      using _ = closeOnAbort(connection, signal);
      const { connection: shared, version, home } = await readyFor(part, process);
      // The pid is for people to see: without its start time nothing but what carries the run's marker is ever ended by this.
      request.spawned({ ...commandsOf(runMarker), pid: shared.process.identity.pid });
      request.connected(connection);
      if (part.closed !== null) throw part.closed;
      return { connection, version, home };
    } catch (error) {
      await connection.stop();
      throw error instanceof SessionStartError ? error : new SessionStartError(failureOfLaunch(error, settings));
    }
  }

  /** Ends them all; nobody is given a place any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#processes.keys()].map((process) => process.stop()));
  }

  #find(settings: Settings): SharedProcess {
    const wanted = startOf(settings, this.#deps);
    for (const [process, start] of this.#processes) if (start === wanted && process.hasRoom) return process;
    const process = new SharedProcess(this.#deps, { settings, ended: (gone) => this.#processes.delete(gone) });
    this.#processes.set(process, wanted);
    return process;
  }
}

/** Runs that agree on this can share a process: everything else is told for each thread or turn. */
function startOf(settings: Settings, { daemonEnv }: SharedProcessDeps): string {
  const env = Object.entries(agentEnvironment({ daemonEnv, settings, runMarker: "" }));
  return JSON.stringify([
    settings.codex.command,
    settings.workspace.root,
    env.toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);
}

/** The greeting, or why this session no longer waits for it. */
function readyFor(part: SharedPart, process: SharedProcess): Promise<Launched> {
  return Promise.race([
    process.ready(),
    part.whenClosed.then((reason) => {
      throw reason;
    }),
  ]);
}
