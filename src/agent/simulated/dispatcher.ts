/** Answers requests: the handshake, the method table, refusals in the real server's words, and what follows an answer on the wire. */
import { uuidV7 } from "./ids.ts";
import { userAgent } from "./identity.ts";
import { type Params, readParams, requiredText, RpcError } from "./params.ts";
import { isRecord, type RequestId, Wire } from "./wire.ts";

/** An answer, and what follows it on the wire. */
export interface Reply {
  readonly result: unknown;
  readonly after?: () => void;
}

export type Method = (params: Params) => Reply | Promise<Reply>;

export interface DispatcherOptions {
  /** Shown as `codexHome`. */
  readonly home: string;
  readonly methods: Readonly<Record<string, Method>>;
  /** Writes one line to the client. */
  write(line: string): void;
  /** For people; never part of the protocol. */
  log(text: string): void;
}

export class Dispatcher {
  readonly wire: Wire;
  readonly #options: DispatcherOptions;
  #client: { readonly name: string; readonly experimental: boolean } | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.wire = new Wire((line) => options.write(line), {
      request: (id, method, params) => void this.#answer(id, method, params),
      notification: () => undefined,
      noise: (line) => options.log(`not a JSON-RPC message: ${line.slice(0, 200)}`),
    });
  }

  /** "" before the handshake. */
  get clientName(): string {
    return this.#client?.name ?? "";
  }

  /** Whether the client asked for the experimental part of the protocol. */
  get experimental(): boolean {
    return this.#client?.experimental === true;
  }

  async #answer(id: RequestId, method: string, params: unknown): Promise<void> {
    try {
      const { result, after } = await this.#call(method, params);
      this.wire.respond(id, result);
      after?.();
    } catch (error) {
      const failure = error instanceof RpcError ? error.failure : { code: -32603, message: String(error) };
      this.wire.refuse(id, failure);
    }
  }

  #call(method: string, params: unknown): Reply | Promise<Reply> {
    if (method === "initialize") return this.#initialize(readParams(params));
    const handler = this.#options.methods[method];
    if (handler === undefined) {
      const known = ["initialize", ...Object.keys(this.#options.methods)].map((name) => `\`${name}\``).join(", ");
      throw new RpcError(`Invalid request: unknown variant \`${method}\`, expected one of ${known}`);
    }
    const read = readParams(params);
    if (this.#client === null) throw new RpcError("Not initialized");
    return handler(read);
  }

  #initialize(params: Params): Reply {
    if (this.#client !== null) throw new RpcError("Already initialized");
    const info = params["clientInfo"];
    if (!isRecord(info)) throw new RpcError("Invalid request: missing field `clientInfo`");
    const { capabilities } = params;
    const name = requiredText(info, "name");
    this.#client = { name, experimental: isRecord(capabilities) && capabilities["experimentalApi"] === true };
    const result = {
      userAgent: userAgent(name, requiredText(info, "version")),
      codexHome: this.#options.home,
      platformFamily: "unix",
      platformOs: process.platform,
    };
    const status = { status: "disabled", serverName: "simulated", installationId: uuidV7(), environmentId: null };
    return { result, after: () => this.wire.notify("remoteControl/status/changed", status) };
  }
}
