/** Linear's OAuth for applications: one live token per client, which a new request revokes. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import { sendJson } from "./faults.ts";

export interface OAuthClient {
  readonly id: string;
  readonly secret: string;
}

export class TokenDesk {
  readonly #client: OAuthClient | null;
  #live: string | null = null;
  /** Tokens handed out so far. */
  issued = 0;

  constructor(client: OAuthClient | null) {
    this.#client = client;
  }

  accepts(token: string): boolean {
    return token === this.#live;
  }

  /** What a rotated secret or a thirty-day term does. */
  revoke(): void {
    this.#live = null;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
    const isClient = form.get("client_id") === this.#client?.id && form.get("client_secret") === this.#client?.secret;
    if (!isClient || form.get("grant_type") !== "client_credentials") {
      sendJson(response, 400, { error: "invalid_client", error_description: "Client authentication failed" });
      return;
    }
    this.#live = `lin_oauth_${randomUUID()}`;
    this.issued += 1;
    const body = { access_token: this.#live, token_type: "Bearer", expires_in: 2_591_999, scope: form.get("scope") };
    sendJson(response, 200, body);
  }
}
