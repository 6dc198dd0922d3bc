/** A stream says the same however it is cut into pieces. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { eventReader } from "./sse.ts";

const STREAM =
  ': hello\n\nevent: snapshot\ndata: {"a":1}\n\nid: 7\nevent: run_event\ndata: {"b":\ndata: 2}\n\ndata: plain\n\n';
const EVENTS = [
  { event: "snapshot", data: '{"a":1}', id: null },
  { event: "run_event", data: '{"b":\n2}', id: "7" },
  { event: "message", data: "plain", id: null },
];

test("cut anywhere, it tells the same events", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length), { maxLength: 8 }), (cuts) => {
      const read = eventReader();
      const places = [0, ...cuts.toSorted((a, b) => a - b), STREAM.length];
      const told = places.slice(1).flatMap((end, index) => read(STREAM.slice(places[index], end)));
      expect(told).toEqual(EVENTS);
    }),
  );
});

test("an event that isn't complete isn't told", () => {
  const read = eventReader();
  expect(read("event: snapshot\ndata: 1\n")).toEqual([]);
  expect(read("\n")).toHaveLength(1);
});
