/** Requests that come before, during and after the load, over a real server. */
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { onDemand, type Answer } from "./on-demand.ts";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** Answers how many bytes came. */
const count: Answer = async (incoming, response) => {
  let bytes = 0;
  for await (const chunk of incoming) bytes += (chunk as Buffer).length;
  response.end(`${bytes} bytes`);
};

interface Served {
  readonly server: Server;
  readonly port: number;
}

async function serve(load: () => Promise<Answer>, failures: unknown[] = []): Promise<Served> {
  const listener = onDemand(load, (error) => failures.push(error));
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

async function send(port: number, body: string): Promise<string> {
  const answer = Promise.withResolvers<string>();
  const outgoing = request({ host: "127.0.0.1", port, method: "POST", agent: false }, (response) => {
    let text = `${response.statusCode ?? 0} `;
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () => answer.resolve(text));
  });
  outgoing.on("error", answer.reject).end(body);
  return answer.promise;
}

test("loads with the first request, once for all, and keeps what was sent meanwhile", async () => {
  const loaded = Promise.withResolvers<Answer>();
  const asked = Promise.withResolvers<void>();
  let loads = 0;
  const { port } = await serve(() => {
    loads += 1;
    asked.resolve();
    return loaded.promise;
  });
  expect(loads).toBe(0);
  const answers = Promise.all([send(port, "a"), send(port, "x".repeat(1_000_000)), send(port, "")]);
  await asked.promise;
  loaded.resolve(count);
  expect(await answers).toEqual(["200 1 bytes", "200 1000000 bytes", "200 0 bytes"]);
  expect(await send(port, "later")).toBe("200 5 bytes");
  expect(loads).toBe(1);
});

test("answers 503 when it can't be loaded, and tries again with the next request", async () => {
  const failures: unknown[] = [];
  let broken = true;
  const error = new Error("broken");
  const { port } = await serve(() => (broken ? Promise.reject(error) : Promise.resolve(count)), failures);
  expect(await send(port, "a")).toMatch(/^503 \{"error":\{"code":"unavailable",/);
  expect(failures).toEqual([error]);
  broken = false;
  expect(await send(port, "a")).toBe("200 1 bytes");
});

test("doesn't answer a client that has gone while it was loaded", async () => {
  const loaded = Promise.withResolvers<Answer>();
  const asked = Promise.withResolvers<void>();
  const seen: string[] = [];
  const { server, port } = await serve(() => {
    asked.resolve();
    return loaded.promise;
  });
  const gone = Promise.withResolvers<void>();
  server.once("connection", (socket) => socket.once("close", () => gone.resolve()));
  const client = connect(port, "127.0.0.1");
  client.write("GET /first HTTP/1.1\r\nhost: a\r\n\r\n");
  await asked.promise;
  client.destroy();
  await gone.promise;
  loaded.resolve((incoming, response) => {
    seen.push(incoming.url ?? "");
    return count(incoming, response);
  });
  expect(await send(port, "a")).toBe("200 1 bytes");
  expect(seen).toEqual(["/"]);
});
