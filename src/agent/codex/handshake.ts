/** The opening of a connection: who we are, what we want to hear, and which version answers. */
import { AppError } from "../../domain/errors.ts";
import type { Channel } from "./channel.ts";
import { MANIFEST } from "./manifest.ts";
import type { InitializeParams } from "./protocol.ts";
import { stringAt } from "./reading.ts";
import { isTooOld, OLDEST_USABLE } from "./versions.ts";

const CLIENT_NAME = "symphony";

export interface HandshakeRequest {
  readonly channel: Channel;
  readonly clientVersion: string;
  readonly experimentalApi: boolean;
  readonly deadlineMs: number;
}

/** What the other side says of itself; null where it doesn't. */
export interface Greeting {
  readonly version: string | null;
  /** Where it keeps its configuration and its threads. */
  readonly home: string | null;
}

/**
 * initialize and initialized. Rejects as a request does, and with AppError
 * `response_error` for a version that is too old to be used.
 */
export async function shakeHands(request: HandshakeRequest): Promise<Greeting> {
  const { channel, clientVersion, experimentalApi, deadlineMs } = request;
  const params: InitializeParams = {
    clientInfo: { name: CLIENT_NAME, title: "Symphony", version: clientVersion },
    capabilities: { experimentalApi, optOutNotificationMethods: MANIFEST.unused },
  };
  const reply = await channel.request("initialize", params, deadlineMs);
  const version = agentVersion(stringAt(reply, "userAgent"));
  if (version !== null && isTooOld(version)) {
    const message = `codex ${version} is too old; install codex ${OLDEST_USABLE} or newer`;
    throw new AppError("response_error", message, { version, oldest: OLDEST_USABLE });
  }
  channel.notify("initialized");
  return { version, home: stringAt(reply, "codexHome") };
}

/**
 * The version is only told as `<our client name>/<version> (...)`. Another program that speaks the protocol names itself, and its
 * name stays with its version, which says nothing about the protocol's.
 */
function agentVersion(userAgent: string | null): string | null {
  const match = /^([^/\s]+)\/(\d+\.\d+\.\d+\S*)/.exec(userAgent ?? "");
  const [, product, version] = match ?? [];
  if (version === undefined) return null;
  return product === CLIENT_NAME ? version : `${product}/${version}`;
}
