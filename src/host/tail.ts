/** The last bytes of a stream: bounded memory for output that nobody may ever read. */

/** Keeps the newest `limitBytes`; older bytes are dropped. */
export interface Tail {
  push(chunk: Buffer): void;
  /** The kept bytes as text; a character that was cut at the front is left out. */
  text(): string;
}

/** Chunks are compacted only when twice the limit is held, so a byte is copied at most once. */
export function createTail(limitBytes: number): Tail {
  let chunks: Buffer[] = [];
  let size = 0;

  function compact(): Buffer {
    const all = Buffer.concat(chunks, size);
    const kept = all.subarray(Math.max(0, all.length - limitBytes));
    chunks = [kept];
    size = kept.length;
    return kept;
  }

  return {
    push(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limitBytes * 2) compact();
    },
    text() {
      const cut = size > limitBytes;
      const kept = compact();
      let start = 0;
      // UTF-8 continuation bytes at the front belong to a character whose start is gone.
      while (cut && start < 4 && start < kept.length && ((kept[start] ?? 0) & 0xc0) === 0x80) start += 1;
      return kept.subarray(start).toString("utf8");
    },
  };
}
