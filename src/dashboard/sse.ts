/** Server-sent events out of the text of a stream, in whatever pieces it comes. */

export interface SentEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | null;
}

/** A reader of pieces: each call answers the events that its piece completed. */
export function eventReader(): (piece: string) => readonly SentEvent[] {
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => parseBlock(block) ?? []);
  };
}

/** Null for a comment, which only says that the connection lives. */
function parseBlock(block: string): SentEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    const before = fields.get(name);
    fields.set(name, name === "data" && before !== undefined ? `${before}\n${value}` : value);
  }
  const data = fields.get("data");
  return data === undefined ? null : { event: fields.get("event") ?? "message", data, id: fields.get("id") ?? null };
}
