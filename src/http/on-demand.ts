/** Answers requests with what is loaded when the first one comes: a daemon that nobody asks needs no routes, schemas or fetch classes. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** Answers one request; it deals with its own failures. */
export type Answer = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>;

/** A failed load is told to `onFailure`; its clients get a 503, and the next request tries again. */
export function onDemand(load: () => Promise<Answer>, onFailure: (error: unknown) => void): RequestListener {
  let loading: Promise<Answer> | null = null;
  const respond: Answer = async (incoming, response) => {
    let answer: Answer;
    try {
      answer = await (loading ??= load());
    } catch (error) {
      loading = null;
      onFailure(error);
      refuse(response);
      return;
    }
    // A client that has gone meanwhile would not be seen to go any more.
    if (!response.destroyed) await answer(incoming, response);
  };
  return (incoming, response) => void respond(incoming, response);
}

/** In the envelope of every error. */
function refuse(response: ServerResponse): void {
  const message =
    "the API can't be loaded; the daemon's log says why. Was the package replaced? Then restart the daemon";
  response.writeHead(503, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ error: { code: "unavailable", message } }));
}
