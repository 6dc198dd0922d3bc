#!/usr/bin/env node
/** An executable that misbehaves as its plan says; where the plan is silent it is the simulated agent. Usage: fake-app-server.ts DIR. */
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Behaviour } from "../../src/agent/simulated/behaviour.ts";
import { Commands } from "../../src/agent/simulated/commands.ts";
import { RolloutStore } from "../../src/agent/simulated/rollout.ts";
import { parseScript } from "../../src/agent/simulated/script.ts";
import { Server } from "../../src/agent/simulated/server.ts";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import { assertNever } from "../../src/domain/errors.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { fakePlan, type ReadFakePlan } from "./fake-plan.ts";

type Message = Readonly<Record<string, unknown>>;
type Fault = ReadFakePlan["on_request"][number] | ReadFakePlan["on_send"][number];

/** Says which faults strike the message of a method that comes next. */
class FaultFinder<F extends Fault> {
  readonly #faults: readonly F[];
  readonly #seen = new Map<string, number>();

  constructor(faults: readonly F[]) {
    this.#faults = faults;
  }

  next(method: string): readonly F[] {
    const nth = (this.#seen.get(method) ?? 0) + 1;
    this.#seen.set(method, nth);
    return this.#faults.filter(
      (fault) => (fault.method === method || fault.method === "*") && (fault.nth === undefined || fault.nth === nth),
    );
  }
}

function overlay(base: unknown, set: Message): Message {
  const merged: Record<string, unknown> = isRecord(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(set)) merged[key] = isRecord(value) ? overlay(merged[key], value) : value;
  return merged;
}

function withJunk(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withJunk);
  if (!isRecord(value)) return value;
  const inner = Object.entries(value).map(([key, entry]) => [key, withJunk(entry)] as const);
  return { ...Object.fromEntries(inner), zzUnknownField: { nested: [1, "two", null] }, zzUnknownText: "☃" };
}

/** Everything on its way to the client. */
class Outlet {
  readonly #finder: FaultFinder<ReadFakePlan["on_send"][number]>;
  /** Methods of the requests that have no response yet. */
  readonly asked = new Map<unknown, string>();
  readonly #late = new Map<unknown, number>();
  #threadId = "";
  #turnId = "";

  constructor(plan: ReadFakePlan) {
    this.#finder = new FaultFinder(plan.on_send);
  }

  delay(id: unknown, ms: number): void {
    this.#late.set(id, ms);
  }

  raw(text: string): void {
    for (let rest = Buffer.from(text); rest.length > 0;) {
      try {
        rest = rest.subarray(writeSync(1, rest));
      } catch (error) {
        // A full pipe: the reader is slow. Anything else means that it has gone.
        if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) process.exit(0);
      }
    }
  }

  line(text: string): void {
    const message: unknown = JSON.parse(text);
    if (!isRecord(message)) return;
    this.#remember(message);
    const { id } = message;
    const isResponse = message["method"] === undefined;
    const method = isResponse ? (this.asked.get(id) ?? "") : String(message["method"]);
    const late = isResponse ? this.#late.get(id) : undefined;
    if (late === undefined) this.#send(method, message);
    else systemClock.setTimer(late, () => this.#send(method, message));
  }

  #remember(message: Message): void {
    const params = isRecord(message["params"]) ? message["params"] : {};
    const result = isRecord(message["result"]) ? message["result"] : {};
    const { threadId } = params;
    const turn = params["turn"] ?? result["turn"];
    const thread = params["thread"] ?? result["thread"];
    if (typeof threadId === "string") this.#threadId = threadId;
    if (isRecord(thread) && typeof thread["id"] === "string") this.#threadId = thread["id"];
    if (isRecord(turn) && typeof turn["id"] === "string") this.#turnId = turn["id"];
  }

  #send(method: string, original: Message): void {
    const faults = this.#finder.next(method);
    let message = original;
    for (const fault of faults) {
      if (fault.do === "edit") {
        const key = "result" in message ? "result" : "params";
        message = { ...message, [key]: overlay(message[key], fault.set) };
      } else if (fault.do === "junk") {
        message = overlay(withJunk(message), {});
      } else if (fault.do === "before") {
        this.#lines(fault.lines);
      } else if (fault.do === "flood") {
        this.#flood(fault.events);
      }
    }
    if (!faults.some((fault) => fault.do === "drop")) this.#sendWhole(faults, `${JSON.stringify(message)}\n`);
    for (const fault of faults) if (fault.do === "after") this.#lines(fault.lines);
  }

  #sendWhole(faults: readonly ReadFakePlan["on_send"][number][], text: string): void {
    const split = faults.find((fault) => fault.do === "split");
    if (faults.some((fault) => fault.do === "tear")) {
      this.raw(text.slice(0, Math.floor(text.length / 2)));
      process.exit(1);
    }
    if (split === undefined) this.raw(text);
    else this.#pieces(Buffer.from(text), split.bytes);
    if (faults.some((fault) => fault.do === "twice")) this.raw(text);
  }

  #pieces(bytes: Buffer, size: number): void {
    for (let at = 0; at < bytes.length; at += size) writeSync(1, bytes.subarray(at, at + size));
  }

  #lines(lines: readonly (string | Message)[]): void {
    for (const line of lines) {
      const text = typeof line === "string" ? line : `${JSON.stringify(line)}\n`;
      this.raw(text.replaceAll("{{threadId}}", this.#threadId).replaceAll("{{turnId}}", this.#turnId));
    }
  }

  #flood(events: number): void {
    const params = { threadId: this.#threadId, turnId: this.#turnId, itemId: "msg_flood", delta: "x" };
    const line = `${JSON.stringify({ method: "item/agentMessage/delta", params })}\n`;
    this.raw(line.repeat(events));
  }
}

/** Everything on its way to the server: lines that no fault takes reach `feed`. */
class Inlet {
  readonly #finder: FaultFinder<ReadFakePlan["on_request"][number]>;
  readonly #outlet: Outlet;
  readonly #logPath: string;
  readonly #feed: (line: string) => void;
  #rest = "";

  constructor(plan: ReadFakePlan, outlet: Outlet, logPath: string, feed: (line: string) => void) {
    this.#finder = new FaultFinder(plan.on_request);
    this.#outlet = outlet;
    this.#logPath = logPath;
    this.#feed = feed;
  }

  take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    appendFileSync(this.#logPath, `${line}\n`);
    const message: unknown = JSON.parse(line);
    if (!isRecord(message)) return;
    const { id, method } = message;
    if (typeof method === "string" && id !== undefined) {
      this.#outlet.asked.set(id, method);
      for (const fault of this.#finder.next(method)) if (this.#strike(fault, id)) return;
    }
    this.#feed(line);
  }

  /** True when the request goes no further. */
  #strike(fault: ReadFakePlan["on_request"][number], id: unknown): boolean {
    switch (fault.do) {
      case "delay":
        this.#outlet.delay(id, fault.ms);
        return false;
      case "ignore":
        return true;
      case "refuse":
        this.#outlet.raw(`${JSON.stringify({ id, error: { code: fault.code, message: fault.message } })}\n`);
        return true;
      case "exit":
        process.stderr.write(fault.stderr);
        process.exit(fault.code);
        return true;
      case "die":
        process.kill(process.pid, "SIGKILL");
        return true;
      default:
        return assertNever(fault);
    }
  }
}

function startGrandchild(kind: ReadFakePlan["grandchild"], dir: string): void {
  if (kind === "none") return;
  const trap = kind === "ignores_term" ? "trap '' TERM HUP INT; " : "";
  const script = `${trap}while :; do sleep 0.1; done`;
  // Detached: a session of its own, as setsid makes one.
  const child = spawn("bash", ["-c", script], { detached: true, stdio: "ignore" });
  child.unref();
  writeFileSync(join(dir, "grandchild.pid"), String(child.pid));
}

function main(dir: string): void {
  const plan = fakePlan.parse(JSON.parse(readFileSync(join(dir, "plan.json"), "utf8")));
  const home = join(dir, "home");
  const scriptPath = join(dir, "plan.json");
  const script = plan.tickets === undefined ? null : parseScript(JSON.stringify({ tickets: plan.tickets }), scriptPath);
  const commands = new Commands();
  const store = new RolloutStore(home);
  const outlet = new Outlet(plan);
  const server = new Server({
    home,
    store,
    commands,
    behaviour: Promise.resolve(new Behaviour(home, script === null ? null : { path: scriptPath, script })),
    write: (line) => outlet.line(line),
    exit: (code) => process.exit(code),
    log: (text) => process.stderr.write(`${text}\n`),
  });
  const end = (): void => {
    commands.killAll();
    store.release();
    process.exit(0);
  };
  const onSignal = plan.ignore_term ? (): void => undefined : end;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
  process.stderr.write(plan.stderr);
  outlet.raw(plan.greeting);
  startGrandchild(plan.grandchild, dir);
  const inlet = new Inlet(plan, outlet, join(dir, "received.jsonl"), (line) => server.feed(Buffer.from(`${line}\n`)));
  process.stdin.setEncoding("utf8").on("data", (text: string) => inlet.take(text));
  if (plan.ignore_stdin_end) setInterval(() => undefined, 60_000);
  else process.stdin.on("end", end);
}

main(process.argv[2] ?? ".");
