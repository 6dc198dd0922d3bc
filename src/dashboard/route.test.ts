/** Addresses of views survive any identifier, and a token is found only where one was meant. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { issueHref, parseRoute, tokenOf } from "./route.ts";

test.each([
  ["", { view: "overview" }],
  ["#/", { view: "overview" }],
  ["#/nonsense", { view: "overview" }],
  ["#/tickets", { view: "tickets" }],
  ["#/history", { view: "history" }],
  ["#/issues/", { view: "overview" }],
  ["#/issues/ENG-1", { view: "issue", identifier: "ENG-1" }],
  ["#/issues/100%", { view: "issue", identifier: "100%" }],
])("%s", (fragment, route) => {
  expect(parseRoute(fragment)).toEqual(route);
});

test("the page of any issue is found by its own address", () => {
  const identifiers = fc.string({ minLength: 1, unit: "grapheme" });
  fc.assert(
    fc.property(identifiers, (identifier) => {
      expect(parseRoute(issueHref(identifier))).toEqual({ view: "issue", identifier });
    }),
  );
});

test.each([
  ["#token=abc_-1", "abc_-1"],
  ["#/token=a%2Bb", "a+b"],
  ["#token=", null],
  ["#/issues/token", null],
  ["", null],
])("the token of %s is %s", (fragment, token) => {
  expect(tokenOf(fragment)).toBe(token);
});
