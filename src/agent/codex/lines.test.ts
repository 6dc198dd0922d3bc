import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader } from "./lines.ts";

interface Read {
  readonly lines: readonly string[];
  readonly oversized: readonly number[];
}

function readAll(chunks: readonly Uint8Array[], maxLineBytes?: number): Read {
  const lines: string[] = [];
  const oversized: number[] = [];
  const sink = {
    line: (text: string) => void lines.push(text),
    oversized: (bytes: number) => void oversized.push(bytes),
  };
  const reader = new LineReader(sink, maxLineBytes);
  for (const chunk of chunks) reader.feed(chunk);
  reader.end();
  return { lines, oversized };
}

/** Cuts `bytes` at the given places, in order. */
function cut(bytes: Buffer, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

const text = fc.string({ unit: "binary", maxLength: 40 }).map((value) => value.replaceAll(/[\r\n]/g, " "));
const places = fc.array(fc.nat(4000), { maxLength: 30 });

describe("reading lines", () => {
  it("finds the same lines wherever the bytes are cut, inside a character too", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), places, (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        expect(readAll(cut(bytes, cuts))).toEqual({ lines, oversized: [] });
      }),
    );
  });

  it("survives one byte at a time", () => {
    const bytes = Buffer.from('{"a":"ä€😀"}\r\n{"b":1}\n');
    expect(readAll([...bytes].map((byte) => Uint8Array.of(byte))).lines).toEqual(['{"a":"ä€😀"}', '{"b":1}']);
  });

  it("reads a last line without its ending", () => {
    expect(readAll([Buffer.from("one\ntwo")]).lines).toEqual(["one", "two"]);
  });

  it("drops a line beyond the ceiling whole, says how long it was, and goes on with the next", () => {
    fc.assert(
      fc.property(fc.integer({ min: 101, max: 5000 }), places, (length, cuts) => {
        const bytes = Buffer.from(`before\n${"x".repeat(length)}\nafter\n`);
        expect(readAll(cut(bytes, cuts), 100)).toEqual({ lines: ["before", "after"], oversized: [length] });
      }),
    );
  });

  it("keeps a line of exactly the ceiling", () => {
    expect(readAll([Buffer.from("x".repeat(60)), Buffer.from(`${"x".repeat(40)}\n`)], 100)).toEqual({
      lines: ["x".repeat(100)],
      oversized: [],
    });
  });

  it("replaces broken UTF-8 and keeps the line", () => {
    expect(readAll([Buffer.from([0x61, 0xff, 0x62, 0x0a])]).lines).toEqual(["a\ufffdb"]);
  });

  it("reads the longest line that was measured, 30 MB in pipe-sized chunks", () => {
    const line = `{"text":"${"y".repeat(30_000_000)}"}`;
    const bytes = Buffer.from(`${line}\n{}\n`);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
      bytes.subarray(index * 65_536, (index + 1) * 65_536),
    );
    const { lines } = readAll(chunks);
    expect(lines.map(({ length }) => length)).toEqual([line.length, 2]);
  });
});
