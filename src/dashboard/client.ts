/** Requests to the API that served this page, and the token for them, which is kept in memory alone. */

/** An answer that isn't the one hoped for; the message is the daemon's own. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Client {
  #token: string | null;

  constructor(token: string | null) {
    this.#token = token;
  }

  get hasToken(): boolean {
    return this.#token !== null;
  }

  setToken(token: string | null): void {
    this.#token = token;
  }

  /** The answer's JSON, which is believed to have the shape of the API's own schema. Throws {@link RequestError}. */
  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const answer = await this.#fetch(path, signal === undefined ? {} : { signal });
    return (await answer.json()) as T;
  }

  /** Throws {@link RequestError}. */
  async post<T>(path: string, body: Readonly<Record<string, unknown>> = {}): Promise<T> {
    const headers = { "content-type": "application/json" };
    const answer = await this.#fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await answer.json()) as T;
  }

  /** The stream of events after `lastId`. Throws {@link RequestError}. */
  async stream(lastId: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const headers: Record<string, string> = lastId === null ? {} : { "last-event-id": lastId };
    const answer = await this.#fetch("/api/v1/stream", { headers, signal });
    if (answer.body === null) throw new RequestError(answer.status, "unavailable", "the stream has no body");
    return answer.body;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== null) headers.set("authorization", `Bearer ${this.#token}`);
    const answer = await fetch(path, { ...init, headers, cache: "no-store", credentials: "omit" });
    if (answer.ok) return answer;
    const said = (await answer.json().catch(() => null)) as { error?: { code?: string; message?: string } } | null;
    throw new RequestError(
      answer.status,
      said?.error?.code ?? "unavailable",
      said?.error?.message ?? `the daemon answered ${answer.status}`,
    );
  }
}
