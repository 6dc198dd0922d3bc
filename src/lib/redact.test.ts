/** What is taken out, and what has to stay readable. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Redactor } from "./redact.ts";

describe("known values", () => {
  test("are taken out wherever they stand, also inside other words", () => {
    const redactor = new Redactor(["s3cr3t-value"]);
    expect(redactor.text("a s3cr3t-value, xs3cr3t-valuex")).toBe("a [redacted], x[redacted]x");
  });

  test("that contain one another leave nothing of the longer one", () => {
    const redactor = new Redactor(["abcd", "abcdefgh"]);
    expect(redactor.text("abcdefgh abcd")).toBe("[redacted] [redacted]");
  });

  test("can be added later", () => {
    const redactor = new Redactor();
    expect(redactor.text("late-secret")).toBe("late-secret");
    redactor.add(["late-secret"]);
    expect(redactor.text("late-secret")).toBe("[redacted]");
  });

  test("that are shorter than four characters are no secrets", () => {
    expect(new Redactor(["", "a", "abc"]).text("abc banana")).toBe("abc banana");
  });

  test("are found as written in a URL, in JSON, and in JSON that is quoted in JSON", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 4 }), fc.string(), (secret, around) => {
        const redactor = new Redactor([secret]);
        const marked = (text: string): boolean => redactor.text(text).includes("[redacted]");
        const once = JSON.stringify({ around, secret });
        return (
          marked(around + secret) &&
          marked(`https://x/?q=${encodeURIComponent(secret)}`) &&
          marked(once) &&
          marked(JSON.stringify({ body: once }))
        );
      }),
    );
  });

  test("leave no piece of twelve characters and more where a text was cut", () => {
    const secret = "lin_api_0123456789abcdefghij";
    const redactor = new Redactor([secret]);
    fc.assert(
      fc.property(fc.integer({ min: 12, max: secret.length }), fc.string(), (length, around) => {
        const head = redactor.text(`${around} ${secret.slice(0, length)}`);
        const tail = redactor.text(`…${secret.slice(-length)} ${around}`);
        return head.endsWith(" [redacted]") && tail.startsWith("…[redacted] ");
      }),
    );
    expect(redactor.text("the key begins with lin_api_0, and lin_api_9876543210 is another")).toContain(
      "lin_api_9876543210",
    );
    expect(
      redactor.text(`${secret.slice(0, 20)}${secret.slice(0, 20)}, ${secret.slice(-14)}${secret.slice(-14)}`),
    ).toBe("[redacted][redacted], [redacted][redacted]");
  });

  test("are taken out of nested data, whose shape stays", () => {
    const redactor = new Redactor(["s3cr3t-value"]);
    const data = { list: ["x s3cr3t-value", 1, null, true], deep: { deeper: { text: "s3cr3t-value" } } };
    expect(redactor.value(data)).toEqual({
      list: ["x [redacted]", 1, null, true],
      deep: { deeper: { text: "[redacted]" } },
    });
  });
});

describe("credentials that nobody told us about", () => {
  test.each([
    ["Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"],
    ['{"authorization":"lin_key_1"}', '{"authorization":"[redacted]"}'],
    ["sent bearer eyJhbGciOi.J9 to the server", "sent bearer [redacted] to the server"],
    ["fatal: https://me:pass@host/repo.git not found", "fatal: https://[redacted]@host/repo.git not found"],
    ["key lin_api_0123456789abcdefXYZ is wrong", "key [redacted] is wrong"],
    ["key sk-proj-0123456789abcdef_XYZ is wrong", "key [redacted] is wrong"],
  ])("%s", (text, clean) => {
    expect(new Redactor().text(text)).toBe(clean);
  });

  test.each([
    "authorization",
    "Proxy-Authorization",
    "cookie",
    "Set-Cookie",
    "api_key",
    "apiKey",
    "X-API-Key",
    "token",
  ])("a field named %s loses its value whatever it is", (name) => {
    expect(new Redactor().value({ [name]: { scheme: "any" } })).toEqual({ [name]: "[redacted]" });
  });
});

test.each([
  "tokens: 1200 input, 300 output",
  "see https://example.com/a@b and mail me@example.com",
  "the task-0123456789abcdef is a risk-0123456789abcdef",
  "authorization failed",
])("ordinary text stays as it is: %s", (text) => {
  expect(new Redactor(["s3cr3t-value"]).text(text)).toBe(text);
});

test("counts of tokens are no secrets", () => {
  const record = { tokens: { input: 1, output: 2 }, api_key: null, token_count: 3 };
  expect(new Redactor().value(record)).toEqual(record);
});
