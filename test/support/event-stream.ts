/** A reader of server-sent events over real HTTP. */
import { request, type RequestOptions } from "node:http";
import { until } from "./until.ts";

export interface EventStream {
  readonly status: number;
  /** All that has come, once an event of this name has come whole. */
  until(event: string): Promise<string>;
  close(): void;
}

/** Resolves when the headers of the answer are there. */
export function openStream(where: RequestOptions): Promise<EventStream> {
  const opened = Promise.withResolvers<EventStream>();
  const outgoing = request(where, (incoming) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    // Closing it is how a test ends it.
    incoming.on("error", () => undefined);
    opened.resolve({
      status: incoming.statusCode ?? 0,
      until: (event) =>
        until(`the event ${event}`, () => new RegExp(`^event: ${event}\\n.*\\n\\n`, "m").test(text) && text),
      close: () => outgoing.destroy(),
    });
  });
  outgoing.on("error", opened.reject);
  outgoing.end();
  return opened.promise;
}
