/** The opening of a connection: who we are, what we want to hear, and which version answers. */
import { AppError } from "../../domain/errors.ts";
import type { Channel } from "./channel.ts";
import { MANIFEST } from "./manifest.ts";
import type { InitializeParams } from "./protocol.ts";
import { stringAt } from "./reading.ts";

const CLIENT_NAME = "symphony";
/** Before it, `turn/completed` was never sent, item events had no ids, and policies were spelled differently (measured on 0.58). */
const OLDEST_USABLE = { major: 0, minor: 100 } as const;

export interface HandshakeRequest {
  readonly channel: Channel;
  readonly clientVersion: string;
  readonly experimentalApi: boolean;
  readonly deadlineMs: number;
}

/**
 * initialize and initialized. Answers the agent's version, null when it says none. Rejects as a request does, and with AppError
 * `response_error` for a version that is too old to be used.
 */
export async function shakeHands(request: HandshakeRequest): Promise<string | null> {
  const { channel, clientVersion, experimentalApi, deadlineMs } = request;
  const params: InitializeParams = {
    clientInfo: { name: CLIENT_NAME, title: "Symphony", version: clientVersion },
    capabilities: { experimentalApi, optOutNotificationMethods: MANIFEST.unused },
  };
  const reply = await channel.request("initialize", params, deadlineMs);
  const version = agentVersion(stringAt(reply, "userAgent"));
  if (version !== null && isTooOld(version)) {
    const oldest = `${OLDEST_USABLE.major}.${OLDEST_USABLE.minor}.0`;
    throw new AppError("response_error", `codex ${version} is too old; install codex ${oldest} or newer`, {
      version,
      oldest,
    });
  }
  channel.notify("initialized");
  return version;
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

/** 0.0.0 is a build from source, whose age can't be told. */
function isTooOld(version: string): boolean {
  const [major, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (version.startsWith("0.0.0")) return false;
  return major === OLDEST_USABLE.major && minor < OLDEST_USABLE.minor;
}
