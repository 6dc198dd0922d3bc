/** A host whose process is the simulated agent in memory: the same server, script and refusals, without a process to start. */
import { PassThrough } from "node:stream";
import { Behaviour } from "../../src/agent/simulated/behaviour.ts";
import { Commands } from "../../src/agent/simulated/commands.ts";
import { RolloutStore } from "../../src/agent/simulated/rollout.ts";
import { parseScript } from "../../src/agent/simulated/script.ts";
import { Server } from "../../src/agent/simulated/server.ts";
import type { Host, ProcessExit } from "../../src/host/port.ts";
import { createTranscriptHost } from "./transcript-host.ts";

/** `tickets` of a script; `home` is where its threads are kept. */
export function createSimulatedHost(home: string, tickets: unknown): Host {
  const script = { path: "script", script: parseScript(JSON.stringify({ tickets }), "script") };
  return {
    ...createTranscriptHost([]).host,
    name: "simulated",
    spawn(request) {
      const [stdin, stdout, end] = [new PassThrough(), new PassThrough(), Promise.withResolvers<ProcessExit>()];
      const [commands, store] = [new Commands(), new RolloutStore(home)];
      const finish = (code: number): void => {
        commands.killAll();
        store.release();
        stdout.end();
        end.resolve({ code, signal: null });
      };
      const server = new Server({
        home,
        store,
        commands,
        behaviour: Promise.resolve(new Behaviour(home, script)),
        write: (line) => stdout.write(line),
        exit: finish,
        log: () => undefined,
      });
      stdin.on("data", (chunk: Buffer) => server.feed(chunk));
      return Promise.resolve({
        identity: { pid: 1, processGroup: 1, startTime: "0", marker: request.marker },
        stdin,
        stdout,
        exited: end.promise,
        stderrTail: () => "",
        stop: () => Promise.resolve(finish(0)),
      });
    },
  };
}
