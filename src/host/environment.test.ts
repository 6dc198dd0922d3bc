import { describe, expect, it } from "vitest";
import { withoutSecrets } from "./environment.ts";

const SECRETS = [{ envNames: ["LINEAR_API_KEY", "BOARD_KEY"], value: "lin_api_0123456789" }];

describe("an environment for a child process", () => {
  it("leaves out the tracker's secrets by name and by value, inside longer values too", () => {
    const env = {
      LINEAR_API_KEY: "another value",
      COPY: "lin_api_0123456789",
      HEADER: "Authorization: lin_api_0123456789",
      LINEAR_TEAM: "ENG",
    };
    expect(withoutSecrets(env, SECRETS)).toEqual({ LINEAR_TEAM: "ENG" });
  });

  it("doesn't take a short or empty secret for part of everything", () => {
    const env = { A: "abc", B: "xabcx", C: "" };
    expect(withoutSecrets(env, [{ envNames: [], value: "abc" }])).toEqual({ B: "xabcx", C: "" });
    expect(withoutSecrets(env, [{ envNames: [], value: "" }])).toEqual(env);
  });
});
