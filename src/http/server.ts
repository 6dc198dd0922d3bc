/** The API's listeners: always a Unix socket in the state directory, and TCP where a port is set. */
import { chmod, rm } from "node:fs/promises";
import type { Server } from "node:http";
import type { Log } from "../lib/log.ts";
import type { Service } from "../lib/service.ts";
import { listenFailure } from "./listen-failure.ts";
import { onDemand, type Answer } from "./on-demand.ts";
import { makeSocketFolder } from "./socket-path.ts";
import type { DaemonView } from "./view.ts";
import type { WebhookRoute } from "./webhook.ts";

/** Importing it would load every export, and with WebSocket and its like all of fetch: 80 ms and 12 MB at each start. */
const http = process.getBuiltinModule("node:http");

export interface ApiServerOptions {
  readonly view: DaemonView;
  readonly log: Log;
  readonly socketPath: string;
  /** TCP where it is not null; port 0 = any free one. */
  readonly tcp: {
    readonly host: string;
    readonly port: number;
    readonly token: string;
    readonly openRefresh: boolean;
  } | null;
  /** Deliveries of the tracker, over TCP alone. */
  readonly webhook?: WebhookRoute | null;
}

export class ApiServer implements Service {
  readonly #options: ApiServerOptions;
  readonly #servers: Server[] = [];
  #url: string | null = null;

  constructor(options: ApiServerOptions) {
    this.#options = options;
  }

  /** Where TCP is served, once started; null without a port. */
  get url(): string | null {
    return this.#url;
  }

  /** The dashboard's page of an issue (its routes are src/dashboard/route.ts); null without a port. */
  pageOf(identifier: string): string | null {
    return this.#url === null ? null : `${this.#url}/#/issues/${encodeURIComponent(identifier)}`;
  }

  /** The dashboard's address with the token in its fragment, which browsers don't send; for the operator's eyes alone. */
  get dashboardUrl(): string | null {
    const { tcp } = this.#options;
    return this.#url === null || tcp === null ? null : `${this.#url}/#token=${encodeURIComponent(tcp.token)}`;
  }

  /** Resolves when it listens. Rejects with AppError when an address can't be had. */
  async start(): Promise<void> {
    if (this.#servers.length > 0) return;
    const { view, log, socketPath, tcp, webhook = null } = this.#options;
    await makeSocketFolder(socketPath);
    // The lock is ours, so a socket file that is there was left by a daemon that died.
    await rm(socketPath, { force: true });
    await this.#listen(async () => (await import("./app.ts")).answerSocket(view, log), { path: socketPath });
    await chmod(socketPath, 0o600);
    if (tcp === null) return;
    const load = async () => (await import("./app.ts")).answerTcp(view, log, tcp, webhook);
    const server = await this.#listen(load, { host: tcp.host, port: tcp.port });
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : tcp.port;
    this.#url = `http://${tcp.host.includes(":") ? `[${tcp.host}]` : tcp.host}:${port}`;
    log.info({ url: this.#url }, "API is served");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.splice(0).map((server) => closeServer(server)));
    await rm(this.#options.socketPath, { force: true });
  }

  async #listen(
    load: () => Promise<Answer>,
    address: { path: string } | { host: string; port: number },
  ): Promise<Server> {
    const onFailure = (error: unknown) => this.#options.log.error({ err: error }, "the API can't be loaded");
    const server = http.createServer(onDemand(load, onFailure));
    const ready = Promise.withResolvers<void>();
    server.once("error", ready.reject);
    server.listen(address, ready.resolve);
    try {
      await ready.promise;
    } catch (error) {
      throw listenFailure(address, error);
    }
    server.off("error", ready.reject);
    this.#servers.push(server);
    return server;
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  await closed.promise;
}
