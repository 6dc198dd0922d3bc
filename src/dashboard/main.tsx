/** Starts the page: takes the token out of the address, connects, and draws. */
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { App, type Said } from "./app.tsx";
import { Client } from "./client.ts";
import { ServicesContext, type Services } from "./hooks.ts";
import { Live } from "./live.ts";
import { tokenOf } from "./route.ts";

/** Long enough to read a sentence twice; errors stay until they are dismissed. */
const SAID_MS = 8000;

/** The token of the address, which is then taken out of it: neither history nor a screenshot should keep it. */
function takeToken(): string | null {
  const token = tokenOf(location.hash);
  if (token !== null) history.replaceState(null, "", `${location.pathname}#/`);
  return token;
}

function Root({ client, live }: { readonly client: Client; readonly live: Live }) {
  const [said, setSaid] = useState<Said | null>(null);
  const [tokens, setTokens] = useState(0);
  const services = useMemo<Services>(
    () => ({
      client,
      live,
      unlock(token) {
        client.setToken(token);
        setTokens((count) => count + 1);
        live.connect();
      },
      say: (text, isError = false) => setSaid((before) => ({ number: (before?.number ?? 0) + 1, text, isError })),
    }),
    // Another object tells every view that the right to act has changed.
    [client, live, tokens],
  );
  useEffect(() => {
    const look = (): void => {
      const token = takeToken();
      if (token !== null) services.unlock(token);
    };
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, [services]);
  useEffect(() => {
    if (said === null || said.isError) return undefined;
    const timer = setTimeout(() => setSaid(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <ServicesContext.Provider value={services}>
      <App said={said} onForget={() => setSaid(null)} />
    </ServicesContext.Provider>
  );
}

const place = document.getElementById("app");
if (place === null) throw new Error("the page has no place for the dashboard");
const client = new Client(takeToken());
const live = new Live(client);
live.connect();
render(<Root client={client} live={live} />, place);
