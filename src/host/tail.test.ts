import fc from "fast-check";
import { expect, test } from "vitest";

import { createTail } from "./tail.ts";

test("a tail is the end of everything pushed, however it was cut into chunks", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.integer({ min: 1, max: 50 }), (chunks, limit) => {
      const tail = createTail(limit);
      for (const chunk of chunks) tail.push(Buffer.from(chunk));
      const all = Buffer.from(chunks.join(""));
      expect(tail.text()).toBe(all.subarray(Math.max(0, all.length - limit)).toString());
      expect(tail.text()).toBe(tail.text());
    }),
  );
});

test("a character that was cut at the front is left out", () => {
  const tail = createTail(6);
  tail.push(Buffer.from("a€€€"));
  expect(tail.text()).toBe("€€");
  const cut = createTail(5);
  cut.push(Buffer.from("a€€€"));
  expect(cut.text()).toBe("€");
});
