/** The frame around every view: header, notices, what was just said, and the way to the right to act. */
import { useEffect, useRef, useState } from "preact/hooks";
import { DaemonControls } from "./controls.tsx";
import type { Snapshot } from "./data.ts";
import { Dialog } from "./dialog.tsx";
import { HistoryView } from "./history.tsx";
import { useLive, useServices } from "./hooks.ts";
import { IssueView } from "./issue.tsx";
import type { Connection } from "./live-state.ts";
import { Notices } from "./notices.tsx";
import { Overview } from "./overview.tsx";
import { Status } from "./parts.tsx";
import { parseRoute, type Route } from "./route.ts";
import { TicketsView } from "./tickets.tsx";

/** What was said last; the number tells two equal texts apart. */
export interface Said {
  readonly number: number;
  readonly text: string;
  readonly isError: boolean;
}

function useRoute(): Route {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const look = (): void => setFragment(location.hash);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return parseRoute(fragment);
}

function titleOf(route: Route): string {
  if (route.view === "issue") return route.identifier;
  return route.view === "overview" ? "Overview" : route.view.replace(/^./, (letter) => letter.toUpperCase());
}

export function App({ said, onForget }: { readonly said: Said | null; readonly onForget: () => void }) {
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const name = titleOf(route);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${name} · Symphony`;
    // A reader of another page begins at its top; on the first one the browser knows better.
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [name]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header route={route} />
      <main id="main" ref={main} tabIndex={-1}>
        <Notices />
        <Body route={route} />
      </main>
      <SaidLine said={said} onForget={onForget} />
    </>
  );
}

function Header({ route }: { readonly route: Route }) {
  const connection = useLive((state) => state.connection);
  const isHeld = useLive(({ snapshot }) => snapshot !== null && isHeldIn(snapshot));
  const links = [
    ["overview", "#/", "Overview"],
    ["tickets", "#/tickets", "Tickets"],
    ["history", "#/history", "History"],
  ] as const;
  return (
    <header>
      <div class="header">
        <a class="brand" href="#/">
          Symphony
        </a>
        <nav aria-label="Views">
          {links.map(([view, href, label]) => (
            <a key={view} href={href} aria-current={route.view === view ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <span class="spacer" />
        <span role="status" class="connection">
          <Status name={connection} label={CONNECTIONS[connection]} />
        </span>
        <DaemonControls isHeld={isHeld} />
        <Unlock />
      </div>
    </header>
  );
}

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: "connecting",
  live: "live",
  lost: "connection lost, trying again",
  locked: "locked",
};

function isHeldIn({ mode, paused }: Snapshot): boolean {
  return mode === "draining" || paused.some(({ kind }) => kind === "operator");
}

function Body({ route }: { readonly route: Route }) {
  const snapshot = useLive((state) => state.snapshot);
  const connection = useLive((state) => state.connection);
  if (connection === "locked") return <Locked />;
  if (snapshot === null) return <p class="empty">Connecting to the daemon…</p>;
  switch (route.view) {
    case "overview":
      return <Overview snapshot={snapshot} />;
    case "tickets":
      return <TicketsView snapshot={snapshot} />;
    case "history":
      return <HistoryView snapshot={snapshot} />;
    case "issue":
      return <IssueView key={route.identifier} identifier={route.identifier} snapshot={snapshot} />;
    default:
      return route satisfies never;
  }
}

function Locked() {
  const { client } = useServices();
  return (
    <div class="locked">
      <h1>Locked</h1>
      <p>This daemon is reachable from other machines, so everything that it says needs its token.</p>
      {client.hasToken && (
        <p class="problem" role="alert">
          That token isn't this daemon's.
        </p>
      )}
      <TokenForm />
    </div>
  );
}

function Unlock() {
  const { client } = useServices();
  const [isOpen, setOpen] = useState(false);
  if (client.hasToken) return null;
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        Read-only: unlock
      </button>
      {isOpen && (
        <Dialog title="Unlock controls" onClose={() => setOpen(false)}>
          <TokenForm onDone={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

function TokenForm({ onDone }: { readonly onDone?: () => void }) {
  const { unlock } = useServices();
  const [token, setToken] = useState("");
  function submit(event: Event): void {
    event.preventDefault();
    unlock(token.trim());
    onDone?.();
  }
  return (
    <form onSubmit={submit}>
      <p>
        The daemon prints an address with the token when it starts in a terminal. The token alone is in the file{" "}
        <code>token</code> of its state directory, which it names there as well. This page keeps it in memory: a reload
        forgets it.
      </p>
      <label class="field">
        Token
        <input
          type="password"
          required
          autocomplete="off"
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <div class="buttons">
        <button type="submit" class="filled">
          Unlock
        </button>
      </div>
    </form>
  );
}

/** Polite: it waits for a screen reader to finish. Always there, since a region that comes with its text isn't read. */
function SaidLine({ said, onForget }: { readonly said: Said | null; readonly onForget: () => void }) {
  return (
    <div role="status" class={said === null ? "said-line" : "said-line shown"}>
      {said !== null && (
        <p key={said.number} class={said.isError ? "error" : ""}>
          {said.text}{" "}
          <button type="button" class="quiet" onClick={onForget}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}
