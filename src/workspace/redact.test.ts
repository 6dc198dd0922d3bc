import { expect, it } from "vitest";

import { redact } from "./redact.ts";

const SECRETS = [{ envNames: ["LINEAR_API_KEY"], value: "lin_api_abc" }];

it.each([
  ["a tracker secret", "key is lin_api_abc.", "key is [redacted]."],
  ["every copy of it", "lin_api_abc lin_api_abc", "[redacted] [redacted]"],
  ["what the environment keeps under a secret's name", "token=sk-verysecret!", "token=[redacted]!"],
  [
    "credentials in an address",
    "fatal: https://me:pass@example.test/x.git",
    "fatal: https://[redacted]@example.test/x.git",
  ],
  ["a bearer header", "Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"],
  ["a header in JSON", '{"authorization":"abcdef"}', '{"authorization":"[redacted]"}'],
])("blots out %s", (_what, text, clean) => {
  expect(redact(text, SECRETS, { OPENAI_API_KEY: "sk-verysecret", HOME: "/home/me" })).toBe(clean);
});

it("leaves ordinary text and short values alone", () => {
  const text = "cloning into /home/me at 100%, key 1234, mail a@b.c";
  expect(redact(text, [{ envNames: [], value: "" }], { MY_KEY: "1234", HOME: "/home/me" })).toBe(text);
});
