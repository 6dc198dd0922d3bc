/** The Authorization header: a personal key goes bare, an OAuth token as Bearer, and a client's own token is fetched and renewed here. */
import { z } from "zod";

import { AppError, assertNever, errorMessage } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { withDeadline } from "./deadline.ts";
import { readKeyFile } from "./credential-keys.ts";
import { isHeaderSafe } from "./keys.ts";
import type { LinearCredential } from "./provider.ts";

/** Where headers come from. */
export interface Credentials {
  /** The header's value; throws an AppError where none can be had. */
  header(): Promise<string>;
  /** Linear refused `header`. True when another may be tried. */
  renew(header: string): Promise<boolean>;
  /** Values that must never be shown. */
  secrets(): readonly string[];
}

type ClientCredential = Extract<LinearCredential, { kind: "client" }>;

const TOKEN_TIMEOUT_MS = 30_000;
const OAUTH_PREFIX = "lin_oauth_";

/** Sending a personal key as Bearer is refused by Linear, and so is an OAuth token without it. */
function headerFor(token: string): string {
  return token.startsWith(OAUTH_PREFIX) ? `Bearer ${token}` : token;
}

function fixed(token: string): Credentials {
  return {
    header: () => Promise.resolve(headerFor(token)),
    renew: () => Promise.resolve(false),
    secrets: () => [token],
  };
}

/** The file is read again when its key is refused: that is how keys are rotated. */
function fromFile(path: string): Credentials {
  let token = readKeyFile(path);
  return {
    header: () => Promise.resolve(headerFor(token)),
    async renew(header) {
      if (header === headerFor(token)) token = readKeyFile(path);
      return header !== headerFor(token);
    },
    secrets: () => [token],
  };
}

const tokenAnswer = z.object({ access_token: z.string().min(1).refine(isHeaderSafe) });

async function fetchToken(credential: ClientCredential, signal: AbortSignal): Promise<string> {
  const { clientId, clientSecret, tokenUrl, scope } = credential;
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: clientSecret,
    scope,
  });
  const response = await fetch(tokenUrl, { method: "POST", body, signal, redirect: "manual" });
  const text = await response.text();
  if (response.status === 400 || response.status === 401 || response.status === 403) {
    throw new AppError("tracker_status", "Linear refused the OAuth client; check tracker.provider.oauth", {
      status: response.status,
      reason: "authentication",
      retryable: false,
    });
  }
  if (!response.ok) {
    throw new AppError("tracker_status", `Linear's token address answered HTTP ${response.status}`, {
      status: response.status,
      reason: "server",
      retryable: true,
    });
  }
  const parsed = tokenAnswer.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.access_token;
  throw new AppError("tracker_response", "Linear's token address answered without a usable access_token", {
    reason: "shape",
    retryable: true,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever it is, it holds no token; the caller says so.
    return null;
  }
}

/** One live token per application: a second request would revoke the first, so there is one refresher and everybody waits for it. */
function fromClient(credential: ClientCredential, clock: Clock): Credentials {
  let token: string | null = null;
  let pending: Promise<string> | null = null;
  const refresh = async (): Promise<string> => {
    try {
      token = await withDeadline(clock, TOKEN_TIMEOUT_MS, (signal) => fetchToken(credential, signal));
      return token;
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw new AppError("tracker_request", `Linear's token address can't be reached: ${errorMessage(error)}`, {
        reason: "network",
        retryable: true,
      });
    } finally {
      pending = null;
    }
  };
  return {
    async header() {
      if (token !== null) return `Bearer ${token}`;
      pending ??= refresh();
      return `Bearer ${await pending}`;
    },
    async renew(header) {
      if (token !== null && header === `Bearer ${token}`) token = null;
      return Promise.resolve(true);
    },
    secrets: () => [credential.clientSecret, ...(token === null ? [] : [token])],
  };
}

/** The source that `tracker.provider` names. */
export function createCredentials(credential: LinearCredential, clock: Clock): Credentials {
  switch (credential.kind) {
    case "token":
      return fixed(credential.token);
    case "file":
      return fromFile(credential.path);
    case "client":
      return fromClient(credential, clock);
    default:
      return assertNever(credential);
  }
}
