import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { fakeView } from "../../test/support/fake-view.ts";
import { ApiServer } from "./server.ts";
import { reachableSocketPath } from "./socket-path.ts";
import { loadToken } from "./token.ts";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const HOSTILE = '<script>alert("x")</script>';

const view = fakeView({
  snapshot: () => ({
    generated_at: "2026-01-01T00:00:00.000Z",
    counts: { running: 1 },
    running: [{ issue_identifier: "ENG-1", issue_title: HOSTILE, state: "Todo" }],
    tracker: { last_error: null },
  }),
  issue: (identifier) => (["ENG-1", "state", "A B/C"].includes(identifier) ? { issue_identifier: identifier } : null),
  refresh: () => ({
    queued: true,
    coalesced: false,
    requested_at: "2026-01-01T00:00:00.000Z",
    operations: ["poll"],
    message: "read now",
  }),
});

let dir: string;
let server: ApiServer;
let token: string;

async function start(tcp: { host?: string; openRefresh?: boolean } = {}): Promise<void> {
  token = await loadToken(join(dir, "token"));
  server = new ApiServer({
    view,
    log: captureLog().log,
    socketPath: join(dir, "control.sock"),
    tcp: { host: tcp.host ?? "127.0.0.1", port: 0, token, openRefresh: tcp.openRefresh ?? false },
  });
  await server.start();
}

interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly socket?: boolean;
  readonly body?: string;
}

/** Asks over TCP, or over the control socket. */
function ask(path: string, { method = "GET", headers = {}, socket = false, body }: Ask = {}): Promise<Answer> {
  const where = socket
    ? { socketPath: join(dir, "control.sock") }
    : { host: "127.0.0.1", port: Number(new URL(server.url ?? "").port) };
  const answer = Promise.withResolvers<Answer>();
  const outgoing = request({ ...where, path, method, headers }, (incoming) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    incoming.on("end", () =>
      answer.resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text }),
    );
  });
  outgoing.on("error", answer.reject);
  outgoing.end(body);
  return answer.promise;
}

function errorCode(answer: Answer): unknown {
  return (JSON.parse(answer.body) as { error: { code: string } }).error.code;
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "symphony-http-"));
});

afterEach(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

describe("the API", () => {
  beforeEach(() => start());

  it("answers the state as JSON that nobody caches", async () => {
    const answer = await ask("/api/v1/state");
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual(view.snapshot());
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it("answers one issue, by its bare identifier and, for every identifier, below issues/", async () => {
    expect(JSON.parse((await ask("/api/v1/ENG-1")).body)).toEqual({ issue_identifier: "ENG-1" });
    expect(JSON.parse((await ask("/api/v1/issues/state")).body)).toEqual({ issue_identifier: "state" });
    expect(JSON.parse((await ask("/api/v1/issues/A%20B%2FC")).body)).toEqual({ issue_identifier: "A B/C" });
  });

  it("answers 404 issue_not_found for an issue that isn't claimed", async () => {
    const answer = await ask("/api/v1/ENG-9");
    expect([answer.status, errorCode(answer)]).toEqual([404, "issue_not_found"]);
  });

  it.each([
    ["POST", "/api/v1/state", "GET"],
    ["GET", "/api/v1/refresh", "POST"],
    ["DELETE", "/api/v1/ENG-1", "GET"],
    ["PUT", "/", "GET"],
    ["GET", "/api/v1/issues/ENG-1/stop", "POST"],
    ["POST", "/api/v1/issues/ENG-1/explain", "GET"],
    ["GET", "/api/v1/pause", "POST"],
    ["POST", "/api/v1/stream", "GET"],
  ])("answers 405 to %s %s", async (method, path, allow) => {
    const answer = await ask(path, { method, headers: { authorization: `Bearer ${token}` } });
    expect([answer.status, errorCode(answer), answer.headers.allow]).toEqual([405, "method_not_allowed", allow]);
  });

  it("serves the page's files to everybody, answers 304 by content, and nothing else of the disk", async () => {
    const page = await ask("/");
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers["content-security-policy"]).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self';",
    );
    expect(page.headers["content-security-policy"]).not.toContain("unsafe");
    const script = await ask("/assets/main.js");
    expect([script.status, script.headers["content-type"]]).toEqual([200, "text/javascript; charset=utf-8"]);
    expect(script.body).not.toContain('from "preact"');
    const etag = script.headers.etag ?? "";
    expect((await ask("/assets/main.js", { headers: { "if-none-match": etag } })).status).toBe(304);
    const gone = ["/assets/nope.js", "/assets/..%2fcli%2fbin.js", "/assets/tsconfig.json", "/assets/"];
    for (const path of gone) expect((await ask(path)).status).toBe(404);
  });

  it("wants the token for a refresh over TCP, and none over the socket", async () => {
    expect((await ask("/api/v1/refresh", { method: "POST" })).status).toBe(401);
    // What no route has is said to everybody.
    for (const method of ["DELETE", "PUT", "PATCH", "OPTIONS"]) {
      expect((await ask("/api/v1/refresh", { method })).status).toBe(405);
    }
    const wrong = { authorization: "Bearer wrong" };
    expect((await ask("/api/v1/refresh", { method: "POST", headers: wrong })).status).toBe(401);
    const right = { authorization: `Bearer ${token}` };
    const answer = await ask("/api/v1/refresh", { method: "POST", headers: right });
    expect(answer.status).toBe(202);
    expect(Object.keys(JSON.parse(answer.body) as object)).toEqual([
      "queued",
      "coalesced",
      "requested_at",
      "operations",
      "message",
    ]);
    expect((await ask("/api/v1/refresh", { method: "POST", socket: true })).status).toBe(202);
  });

  it.each([
    ["a foreign Host", { host: "evil.example" }],
    ["a foreign Origin", { origin: "http://evil.example" }],
    ["a null Origin", { origin: "null" }],
    ["a cross-site fetch", { "sec-fetch-site": "cross-site" }],
  ])("refuses %s", async (_name, headers) => {
    const answer = await ask("/api/v1/state", { headers });
    expect([answer.status, errorCode(answer)]).toEqual([403, "forbidden"]);
  });

  it("takes a body as JSON alone, which no page of another site can send unasked", async () => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "text/plain" };
    const plain = await ask("/api/v1/pause", { method: "POST", headers, body: "{}" });
    expect([plain.status, errorCode(plain)]).toEqual([415, "unsupported_media_type"]);
    const broken = { ...headers, "content-type": "application/json; charset=utf-8" };
    const answer = await ask("/api/v1/pause", { method: "POST", headers: broken, body: "{" });
    expect([answer.status, errorCode(answer)]).toEqual([400, "bad_request"]);
  });

  it.each(["pause", "issues/ENG-1/stop", "issues/ENG-1/steer", "questions/q/answer"])(
    "wants the token for %s over TCP, and looks at nothing without it",
    async (path) => {
      const answer = await ask(`/api/v1/${path}`, { method: "POST" });
      expect([answer.status, errorCode(answer)]).toEqual([401, "unauthorized"]);
    },
  );

  it("refuses a body that is too large", async () => {
    const headers = { authorization: `Bearer ${token}` };
    expect((await ask("/api/v1/refresh", { method: "POST", headers, body: "x".repeat(300_000) })).status).toBe(413);
  });

  it("leaves the socket to its owner alone, and takes it away at the end", async () => {
    const path = join(dir, "control.sock");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await server.stop();
    expect(existsSync(path)).toBe(false);
  });
});

it("with server.open_refresh, a loopback refresh needs no token", async () => {
  await start({ openRefresh: true });
  expect((await ask("/api/v1/refresh", { method: "POST" })).status).toBe(202);
  expect((await ask("/api/v1/refresh", { method: "POST", headers: { origin: "http://evil.example" } })).status).toBe(
    403,
  );
});

it("bound to every address, everything needs the token", async () => {
  await start({ host: "0.0.0.0" });
  for (const path of ["state", "stream", "openapi.json", "runs"]) {
    expect((await ask(`/api/v1/${path}`)).status).toBe(401);
  }
  expect((await ask("/api/v1/state", { headers: { authorization: `Bearer ${token}`, host: "box.lan" } })).status).toBe(
    200,
  );
});

it("a socket file that a dead daemon left is replaced", async () => {
  writeFileSync(join(dir, "control.sock"), "");
  await start();
  expect((await ask("/api/v1/state", { socket: true })).status).toBe(200);
});

it("says which address can't be had", async () => {
  await start();
  const { port } = new URL(server.url ?? "");
  const second = new ApiServer({
    view,
    log: captureLog().log,
    socketPath: join(dir, "second.sock"),
    tcp: { host: "127.0.0.1", port: Number(port), token, openRefresh: false },
  });
  await expect(second.start()).rejects.toThrow(`server.port (--port): ${port} is in use on 127.0.0.1; `);
  await second.stop();
});

it("the token is made once, for its owner alone", async () => {
  await start();
  expect(statSync(join(dir, "token")).mode & 0o777).toBe(0o600);
  expect(await loadToken(join(dir, "token"))).toBe(token);
  expect(readFileSync(join(dir, "token"), "utf8").trim()).toBe(token);
});

it("a socket path that is too long falls back to the runtime directory", async () => {
  await start();
  const long = `/state/${"x".repeat(120)}/control.sock`;
  expect(reachableSocketPath("/state/control.sock", {})).toBe("/state/control.sock");
  const path = reachableSocketPath(long, { XDG_RUNTIME_DIR: "/run/user/1000" });
  expect(path).toMatch(/^\/run\/user\/1000\/symphony-[0-9a-f]{16}\.sock$/);
  expect(reachableSocketPath(long, { XDG_RUNTIME_DIR: "/run/user/1000" })).toBe(path);
});
