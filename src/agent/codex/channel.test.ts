import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { AppError } from "../../domain/errors.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { RpcError, type RequestId } from "./wire.ts";

interface Sent {
  readonly id?: RequestId;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A channel with its far end in the test's hands. */
class Bench {
  readonly clock = new ManualClock();
  readonly sent: Sent[] = [];
  readonly noticed: string[] = [];
  readonly noise: string[] = [];
  readonly faults: unknown[] = [];
  readonly channel: Channel<string>;

  constructor(options: Partial<ChannelOptions> = {}) {
    this.channel = new Channel<string>({
      clock: this.clock,
      random: () => 0.5,
      write: (line) => void this.sent.push(JSON.parse(line) as Sent),
      onNotification: (method) => void this.noticed.push(method),
      onRequest: () => ({}),
      onNoise: (sample) => void this.noise.push(sample),
      onFault: (error) => void this.faults.push(error),
      ...options,
    });
  }

  receive(message: unknown): void {
    this.channel.feed(Buffer.from(`${typeof message === "string" ? message : JSON.stringify(message)}\n`));
  }

  /** Answers the request that was sent last. */
  reply(body: { result?: unknown; error?: unknown }): void {
    this.receive({ id: this.sent.at(-1)?.id, ...body });
  }

  /** Lets answers that are promises reach the far end. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
  }
}

function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  );
}

describe("asking", () => {
  it("resolves with the result, and always sends params", async () => {
    const bench = new Bench();
    const answer = bench.channel.request("initialize", undefined, 1000);
    expect(bench.sent).toEqual([{ id: 1, method: "initialize", params: {} }]);
    bench.reply({ result: { ok: true } });
    await expect(answer).resolves.toEqual({ ok: true });
    expect(bench.clock.armedCount()).toBe(0);
  });

  it("rejects with the other side's error", async () => {
    const bench = new Bench();
    const answer = outcome(bench.channel.request("turn/steer", {}, 1000));
    bench.reply({ error: { code: -32600, message: "no active turn to steer", data: { a: 1 } } });
    expect(await answer).toMatchObject({
      name: "RpcError",
      code: -32600,
      message: "no active turn to steer",
      data: { a: 1 },
    });
  });

  it("gives up at the deadline although other traffic goes on, and ignores the late answer", async () => {
    const bench = new Bench();
    const answer = outcome(bench.channel.request("thread/start", {}, 1000));
    for (let tick = 0; tick < 10; tick += 1) {
      await bench.clock.advance(100);
      bench.receive({ method: "warning", params: {} });
    }
    expect(await answer).toMatchObject({ code: "response_timeout", data: { method: "thread/start" } });
    bench.reply({ result: {} });
    expect(bench.channel.counts.stray).toBe(1);
  });

  it("keeps few requests in flight, and the deadline of a waiting one runs", async () => {
    const bench = new Bench();
    const answers = Array.from({ length: 12 }, (_, index) => outcome(bench.channel.request("m", { index }, 1000)));
    expect(bench.sent).toHaveLength(8);
    bench.receive({ id: 1, result: "first" });
    expect(bench.sent).toHaveLength(9);
    await bench.clock.advance(1000);
    const settled = await Promise.all(answers);
    expect(settled[0]).toEqual({ value: "first" });
    expect(settled.slice(1).every((error) => error instanceof AppError && error.code === "response_timeout")).toBe(
      true,
    );
    expect(bench.clock.armedCount()).toBe(0);
  });

  it("asks an overloaded server again with growing pauses, under a new id", async () => {
    const bench = new Bench();
    const answer = bench.channel.request("thread/start", { a: 1 }, 10_000);
    const waits: number[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      bench.reply({ error: { code: -32001, message: "Server overloaded; retry later." } });
      const asked = bench.clock.now();
      const due = (bench.clock.nextDueAt() ?? asked) - asked;
      waits.push(due);
      await bench.clock.advance(due);
    }
    bench.reply({ result: "at last" });
    await expect(answer).resolves.toBe("at last");
    expect(waits).toEqual([100, 200, 400]);
    expect(bench.sent.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
    expect(bench.channel.counts.overloaded).toBe(3);
  });

  it("stops asking an overloaded server at the deadline", async () => {
    const bench = new Bench();
    const answer = outcome(bench.channel.request("thread/start", {}, 150));
    bench.reply({ error: { code: -32001, message: "Server overloaded; retry later." } });
    await bench.clock.advance(150);
    expect(await answer).toMatchObject({ code: "response_timeout" });
    await bench.clock.advance(60_000);
    expect(bench.sent).toHaveLength(2);
  });

  it("gives an overload up after a few tries", async () => {
    const bench = new Bench();
    const answer = outcome(bench.channel.request("thread/start", {}, 3_600_000));
    for (let tries = 0; tries < 7; tries += 1) {
      bench.reply({ error: { code: -32001, message: "Server overloaded; retry later." } });
      await bench.clock.advance(60_000);
    }
    expect(await answer).toMatchObject({ name: "RpcError", code: -32001 });
  });

  it("fails a request that can't be written", async () => {
    const bench = new Bench({
      write: () => {
        throw new Error("EPIPE");
      },
    });
    await expect(bench.channel.request("m", {}, 1000)).rejects.toMatchObject({ code: "port_exit" });
  });
});

describe("closing", () => {
  it("fails everything pending, waiting and backing off with the one first reason", async () => {
    const bench = new Bench();
    const answers = Array.from({ length: 10 }, () => outcome(bench.channel.request("m", {}, 60_000)));
    bench.receive({ id: 1, error: { code: -32001, message: "Server overloaded; retry later." } });
    const reason = new AppError("port_exit", "gone");
    bench.channel.close(reason);
    bench.channel.close(new Error("later"));
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 10 }, () => reason));
    expect(await bench.channel.whenClosed).toBe(reason);
    expect(bench.clock.armedCount()).toBe(0);
    await expect(bench.channel.request("m", {}, 1000)).rejects.toBe(reason);
  });

  it("neither reads nor writes afterwards", async () => {
    const pending = Promise.withResolvers<unknown>();
    const bench = new Bench({ onRequest: () => pending.promise });
    bench.receive({ id: 0, method: "item/tool/call", params: {} });
    bench.channel.close(new Error("gone"));
    pending.resolve({ success: true });
    bench.channel.notify("initialized");
    bench.receive({ method: "turn/started", params: {} });
    await bench.settle();
    expect(bench.sent).toEqual([]);
    expect(bench.noticed).toEqual([]);
  });
});

describe("answering", () => {
  const handlers: Record<string, () => unknown> = {
    value: () => ({ decision: "decline" }),
    nothing: () => undefined,
    promise: () => Promise.resolve(1),
    throws: () => {
      throw new Error("handler blew up");
    },
    refuses: () => {
      throw new RpcError(-32601, "not supported");
    },
    rejects: () => Promise.reject(new Error("later")),
    cyclic: () => {
      const cycle: Record<string, unknown> = {};
      cycle["self"] = cycle;
      return cycle;
    },
    bigint: () => 1n,
  };

  it("gives every request exactly one answer, whatever its handler does", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...Object.keys(handlers)), { maxLength: 20 }), async (methods) => {
        const bench = new Bench({ onRequest: (method) => handlers[method]?.() });
        for (const [id, method] of methods.entries()) bench.receive({ id, method, params: {} });
        await bench.settle();
        expect(bench.sent.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b))).toEqual(
          methods.map((_, id) => id),
        );
        expect(bench.sent.every((answer) => "result" in answer !== "error" in answer)).toBe(true);
      }),
    );
  });

  it("keeps the server's ids apart from its own", async () => {
    const bench = new Bench({ onRequest: () => "answer" });
    const asked = bench.channel.request("m", {}, 1000);
    bench.receive({ id: 1, method: "item/tool/call", params: {} });
    bench.receive({ id: 0, method: "item/tool/call", params: {} });
    bench.receive({ id: 1, result: "reply" });
    await expect(asked).resolves.toBe("reply");
    expect(bench.sent.slice(1)).toEqual([
      { id: 1, result: "answer" },
      { id: 0, result: "answer" },
    ]);
  });

  it("uses the code of a refusal, and an internal error for a fault, which is reported", () => {
    const bench = new Bench({ onRequest: (method) => handlers[method]?.() });
    bench.receive({ id: 0, method: "refuses", params: {} });
    bench.receive({ id: 1, method: "throws", params: {} });
    expect(bench.sent).toEqual([
      { id: 0, error: { code: -32601, message: "not supported" } },
      { id: 1, error: { code: -32603, message: "handler blew up" } },
    ]);
    expect(bench.faults).toHaveLength(1);
  });

  it("is no fault of ours when the other side has gone before the answer", () => {
    const bench = new Bench({
      write: () => {
        throw new Error("EPIPE");
      },
    });
    bench.receive({ id: 0, method: "m", params: {} });
    bench.channel.notify("m");
    expect(bench.faults).toEqual([]);
  });
});

describe("noise", () => {
  it("is counted and reported, and messages around it are read", () => {
    const bench = new Bench();
    for (const line of ["motd", '{"method":"a","params":{}}', "", "{broken", '{"method":"b","params":{}}']) {
      bench.receive(line);
    }
    expect(bench.noticed).toEqual(["a", "b"]);
    expect(bench.noise).toEqual(["motd", "{broken"]);
    expect(bench.channel.counts.noise).toBe(2);
  });

  it("in a handler of ours doesn't end the channel", () => {
    const bench = new Bench({
      onNotification: (method) => {
        if (method === "bad") throw new Error("ours");
        bench.noticed.push(method);
      },
    });
    bench.receive({ method: "bad" });
    bench.receive({ method: "good" });
    expect(bench.noticed).toEqual(["good"]);
    expect(bench.channel.counts.faults).toBe(1);
  });

  it("never changes what a stream of messages means, wherever it is cut", () => {
    const message = fc.record({
      method: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
      params: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.integer({ min: 1, max: 7 }), (messages, step) => {
        const bench = new Bench();
        const bytes = Buffer.from(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
        for (let at = 0; at < bytes.length; at += step) bench.channel.feed(bytes.subarray(at, at + step));
        expect(bench.noticed).toEqual(messages.map(({ method }) => method));
      }),
    );
  });
});
