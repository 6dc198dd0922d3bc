/** Who may ask what over TCP: Host and Origin are checked against rebinding and cross-site requests, and changes need the token. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { apiError } from "./envelope.ts";
import { isPagePath } from "./page.ts";

export interface SecurityOptions {
  /** The address that the server is bound to. */
  readonly host: string;
  readonly token: string;
  /** `server.open_refresh`: on loopback, `POST /api/v1/refresh` needs no token. */
  readonly openRefresh: boolean;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);

/** An address that only this machine reaches. */
function isLoopback(host: string): boolean {
  return LOOPBACK_NAMES.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** The name in a Host header, without its port. */
function nameOf(hostHeader: string): string {
  return hostHeader.replace(/:\d+$/, "").toLowerCase();
}

function isAllowedHost(header: string | undefined, options: SecurityOptions): boolean {
  if (header === undefined) return false;
  const name = nameOf(header);
  if (isLoopback(name)) return true;
  // Bound to all addresses, any name can be right: there the token guards everything.
  return !isLoopback(options.host);
}

/** A browser page of another site says where it comes from; a page of ours, or a script, doesn't or says the same host. */
function isAllowedOrigin(context: Context): boolean {
  if (context.req.header("sec-fetch-site") === "cross-site") return false;
  const origin = context.req.header("origin");
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === context.req.header("host");
}

/** Compares in constant time, whatever the lengths. */
function isToken(given: string | undefined, token: string): boolean {
  const bearer = given?.match(/^Bearer (.+)$/i)?.[1];
  if (bearer === undefined) return false;
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(bearer), digest(token));
}

function needsToken(context: Context, options: SecurityOptions): boolean {
  const { method, path } = context.req;
  const isRead = method === "GET" || method === "HEAD";
  // A browser can't send a token with an address. These files hold nothing of the daemon's; the page asks for the token itself.
  if (isRead && isPagePath(path)) return false;
  if (!isLoopback(options.host)) return true;
  // Routes change something by POST alone (route.ts has nothing else): any other method is told that it isn't there.
  if (method !== "POST") return false;
  return !(options.openRefresh && path === "/api/v1/refresh");
}

/** Guards every route of a TCP listener. The Unix socket needs none of it: its file mode is the guard. */
export function guardTcp(options: SecurityOptions): MiddlewareHandler {
  return async (context, next) => {
    if (!isAllowedHost(context.req.header("host"), options)) {
      return apiError(context, 403, "forbidden", "this Host is not served; ask by the address that the daemon printed");
    }
    if (!isAllowedOrigin(context)) return apiError(context, 403, "forbidden", "requests from other sites are refused");
    if (needsToken(context, options) && !isToken(context.req.header("authorization"), options.token)) {
      return apiError(
        context,
        401,
        "unauthorized",
        "send Authorization: Bearer with the token from the state directory",
      );
    }
    return next();
  };
}
