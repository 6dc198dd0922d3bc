/** Files that people put into a description: fetched from Linear's own host with the daemon's credential, and from nowhere else. */
import { AppError } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { FetchImageOptions } from "../port.ts";
import type { Credentials } from "./credentials.ts";
import { withDeadline } from "./deadline.ts";

const API_HOST = "api.linear.app";
const UPLOADS_ORIGIN = "https://uploads.linear.app";
const DOWNLOAD_TIMEOUT_MS = 20_000;

export interface UploadsDeps {
  readonly endpoint: string;
  readonly credentials: Credentials;
  readonly clock: Clock;
}

export class Uploads {
  readonly #deps: UploadsDeps;
  readonly #closed = new AbortController();
  /** The one place that the credential may be sent to: Linear's uploads, or the host of an endpoint that isn't Linear's. */
  readonly #origin: string;

  constructor(deps: UploadsDeps) {
    this.#deps = deps;
    const { hostname, origin } = new URL(deps.endpoint);
    this.#origin = hostname === API_HOST ? UPLOADS_ORIGIN : origin;
  }

  /** The bytes; null for an address of another host. Throws tracker_request, tracker_status or tracker_response. */
  async fetch(reference: string, { maxBytes, signal }: FetchImageOptions): Promise<Uint8Array | null> {
    if (!URL.canParse(reference)) return null;
    const address = new URL(reference);
    if (address.origin !== this.#origin || address.username !== "" || address.password !== "") return null;
    const { credentials, clock } = this.#deps;
    const get = (header: string): Promise<Answer> =>
      withDeadline(clock, DOWNLOAD_TIMEOUT_MS, (ending) => download(address, header, { maxBytes, signal: ending }), [
        signal,
        this.#closed.signal,
      ]);
    const header = await credentials.header();
    const answer = await get(header);
    if (answer.status !== 401 || !(await credentials.renew(header))) return bytesOf(answer);
    return bytesOf(await get(await credentials.header()));
  }

  /** Ends what is under way. */
  close(): void {
    this.#closed.abort(new AppError("tracker_request", "the connection to Linear was closed"));
  }
}

interface Answer {
  readonly status: number;
  readonly bytes: Uint8Array;
}

function bytesOf({ status, bytes }: Answer): Uint8Array {
  if (status === 200) return bytes;
  const what = status >= 300 && status < 400 ? "a redirect, which is not followed" : "no file";
  throw new AppError("tracker_status", `Linear answered ${what} (HTTP ${status})`, { status });
}

async function download(address: URL, header: string, { maxBytes, signal }: FetchImageOptions): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(address, { headers: { Authorization: header }, redirect: "manual", signal });
  } catch (error) {
    signal.throwIfAborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new AppError("tracker_request", `Linear's files can't be reached: ${cause}`, {}, { cause: error });
  }
  if (response.status !== 200) {
    await response.body?.cancel();
    return { status: response.status, bytes: new Uint8Array() };
  }
  return { status: 200, bytes: await readBounded(response, maxBytes) };
}

/** Stops reading at the first byte too many, whatever the header said. */
async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = (): AppError =>
    new AppError("tracker_response", `it has more bytes than codex.images.max_bytes (${maxBytes}) allows`, {
      maxBytes,
    });
  if (Number(response.headers.get("content-length") ?? 0) > maxBytes) {
    await response.body?.cancel();
    throw tooLarge();
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop ends the transfer.
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
