import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import type { FetchImageOptions } from "../port.ts";
import type { Credentials } from "./credentials.ts";
import { Uploads } from "./uploads.ts";

/** A host that answers as `answer` says, and remembers who asked. */
class UploadHost {
  readonly seen: (readonly [path: string | undefined, authorization: string | undefined])[] = [];
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end("bytes");
  readonly #server = createServer((request, response) => {
    this.seen.push([request.url, request.headers.authorization]);
    this.answer(request, response);
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let host: UploadHost;
let origin: string;
const tokens = ["old", "new"];

function credentials(): Credentials {
  let at = 0;
  return {
    header: () => Promise.resolve(tokens[at] ?? ""),
    renew: async () => {
      at += 1;
      return at < tokens.length;
    },
    secrets: () => tokens,
  };
}

function options(more: Partial<FetchImageOptions> = {}): FetchImageOptions {
  return { maxBytes: 100, signal: new AbortController().signal, ...more };
}

function uploadsOn(endpoint = `${origin}/graphql`): Uploads {
  return new Uploads({ endpoint, credentials: credentials(), clock: systemClock });
}

beforeEach(async () => {
  host = new UploadHost();
  origin = await host.open();
});

afterEach(() => host.close());

describe("a file that people put into a description", () => {
  it("is fetched from the tracker's own host with the credential", async () => {
    const bytes = await uploadsOn().fetch(`${origin}/a/b.png?x=1`, options());
    expect(Buffer.from(bytes ?? []).toString()).toBe("bytes");
    expect(host.seen).toEqual([["/a/b.png?x=1", "old"]]);
  });

  it("is fetched again with a renewed credential when that is refused, once", async () => {
    host.answer = ({ headers }, response) => {
      response.statusCode = headers.authorization === "new" ? 200 : 401;
      response.end("fine");
    };
    const bytes = await uploadsOn().fetch(`${origin}/a`, options());
    expect(Buffer.from(bytes ?? []).toString()).toBe("fine");
    host.answer = (_, response) => response.writeHead(401).end();
    await expect(uploadsOn().fetch(`${origin}/a`, options())).rejects.toThrow(/no file \(HTTP 401\)/);
    expect(host.seen.map(([, header]) => header)).toEqual(["old", "new", "old", "new"]);
  });

  it("is not fetched from anywhere else, and nobody else sees the credential", async () => {
    const uploads = uploadsOn();
    const port = Number(new URL(origin).port);
    const elsewhere = [
      "https://uploads.linear.app/x.png",
      `https://127.0.0.1:${port}/x.png`,
      `http://127.0.0.1:${port + 1}/x.png`,
      `http://user:pass@127.0.0.1:${port}/x.png`,
      `http://127.0.0.1.example:${port}/x.png`,
      "file:///etc/passwd",
      "data:image/png;base64,AAAA",
      "relative.png",
      "//127.0.0.1/x.png",
      "",
    ];
    for (const reference of elsewhere) expect(await uploads.fetch(reference, options())).toBeNull();
    const atLinear = uploadsOn("https://api.linear.app/graphql");
    const others = [
      `${origin}/x.png`,
      "https://api.linear.app/x.png",
      "http://uploads.linear.app/x.png",
      "https://uploads.linear.app:8443/x.png",
      "https://uploads.linear.app.example.com/x.png",
      "https://user@uploads.linear.app/x.png",
    ];
    for (const reference of others) expect(await atLinear.fetch(reference, options())).toBeNull();
    expect(host.seen).toEqual([]);
  });

  it("is not fetched where a redirect leads", async () => {
    const other = new UploadHost();
    const otherOrigin = await other.open();
    host.answer = (_, response) => response.writeHead(302, { location: `${otherOrigin}/stolen` }).end();
    await expect(uploadsOn().fetch(`${origin}/a`, options())).rejects.toThrow(/a redirect, which is not followed/);
    expect(other.seen).toEqual([]);
    await other.close();
  });

  it("is read no further than it may be long, whatever its header says", async () => {
    const tooLarge = /more bytes than codex\.images\.max_bytes \(100\)/;
    host.answer = (_, response) => response.writeHead(200, { "content-length": "101" }).end("x".repeat(101));
    await expect(uploadsOn().fetch(`${origin}/a`, options())).rejects.toThrow(tooLarge);
    host.answer = (_, response) => {
      response.writeHead(200);
      // Never ends: only a reader that stops gets an answer.
      response.write("x".repeat(200));
    };
    await expect(uploadsOn().fetch(`${origin}/a`, options())).rejects.toThrow(tooLarge);
    host.answer = (_, response) => response.end("x".repeat(100));
    expect((await uploadsOn().fetch(`${origin}/a`, options()))?.byteLength).toBe(100);
  });

  it("that hangs ends with the run, and with the adapter", async () => {
    const asked = Promise.withResolvers<void>();
    host.answer = () => asked.resolve();
    const run = new AbortController();
    const uploads = uploadsOn();
    const first = uploads.fetch(`${origin}/a`, options({ signal: run.signal }));
    void asked.promise.then(() => run.abort(new Error("run ended")));
    await expect(first).rejects.toThrow("run ended");
    const second = uploads.fetch(`${origin}/b`, options());
    uploads.close();
    await expect(second).rejects.toThrow(/connection to Linear was closed/);
  });

  it("whose host is gone is a failure in words", async () => {
    await host.close();
    await expect(uploadsOn().fetch(`${origin}/a`, options())).rejects.toThrow(/can't be reached: .*ECONNREFUSED/);
    host = new UploadHost();
    await host.open();
  });
});
