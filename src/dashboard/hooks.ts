/** What views draw from: the live state, the time, and answers of the API. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { RequestError, type Client } from "./client.ts";
import type { Live } from "./live.ts";
import type { LiveState } from "./live-state.ts";

/** What every view can reach. */
export interface Services {
  readonly client: Client;
  readonly live: Live;
  /** Takes another token, and connects with it; null forgets it. */
  unlock(token: string | null): void;
  /** Says something to the person, on screen and to a screen reader. */
  say(text: string, isError?: boolean): void;
}

export const ServicesContext = createContext<Services | null>(null);

export function useServices(): Services {
  const services = useContext(ServicesContext);
  if (services === null) throw new Error("this view is drawn outside of the page");
  return services;
}

/** A part of the live state; the view is drawn again only when that part is another object. */
export function useLive<T>(select: (state: LiveState) => T): T {
  const { live } = useServices();
  const [part, setPart] = useState(() => select(live.state));
  useEffect(() => {
    const look = (): void => setPart(() => select(live.state));
    look();
    return live.subscribe(look);
    // The selectors are constants.
  }, [live]);
  return part;
}

const SECOND_MS = 1000;
const tickers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | null = null;

function onTick(listener: () => void): () => void {
  tickers.add(listener);
  ticking ??= setInterval(() => {
    for (const ticker of tickers) ticker();
  }, SECOND_MS);
  return () => {
    tickers.delete(listener);
    if (tickers.size > 0 || ticking === null) return;
    clearInterval(ticking);
    ticking = null;
  };
}

/** Text that follows the time, looked at each second by one timer for all; drawn only when it reads otherwise. */
export function useTicking(text: (now: number) => string): string {
  const { live } = useServices();
  const [, setShown] = useState("");
  const current = text(live.now());
  useEffect(() => onTick(() => setShown(text(live.now()))), [text, live]);
  return current;
}

/** What was asked for: not yet there, there, or why not. */
export interface Loaded<T> {
  readonly value: T | null;
  readonly error: string | null;
  /** Asks again. What is there stays until the answer comes. */
  reload(): void;
}

/** Reads `path` once, again when it or `version` changes, and when the connection is made. A 404 is an answer: null. */
export function useApi<T>(path: string, version: unknown = 0): Loaded<T> {
  const { client } = useServices();
  const connection = useLive(({ connection: now }) => now);
  const [asked, setAsked] = useState(0);
  const [loaded, setLoaded] = useState<{ path: string; value: T | null; error: string | null } | null>(null);
  const isLive = connection === "live";
  useEffect(() => {
    if (!isLive) return undefined;
    const abort = new AbortController();
    client
      .get<T>(path, abort.signal)
      .then((value) => setLoaded({ path, value, error: null }))
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        const isAbsent = error instanceof RequestError && error.status === 404;
        setLoaded({ path, value: null, error: isAbsent ? null : messageOf(error) });
      });
    return () => abort.abort();
  }, [client, path, version, asked, isLive]);
  const current = loaded?.path === path ? loaded : null;
  return { value: current?.value ?? null, error: current?.error ?? null, reload: () => setAsked((count) => count + 1) };
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
