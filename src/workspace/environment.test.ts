import { describe, expect, it } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { hookEnvironment } from "./environment.ts";

const SECRETS = [{ envNames: ["LINEAR_API_KEY", "BOARD_KEY"], value: "lin_api_0123456789" }];

describe("a hook's environment", () => {
  it("is the daemon's, and the issue's data under eight names", () => {
    const issue = makeIssue("ENG-7", { title: "Fix it", state: "Todo", url: "https://example.test/ENG-7" });
    const input = { baseEnv: { PATH: "/bin", UNSET: undefined }, secrets: SECRETS, issue, workspacePath: "/w/ENG-7" };
    expect(hookEnvironment({ ...input, attempt: 2 })).toEqual({
      PATH: "/bin",
      SYMPHONY_ISSUE_ID: "id-ENG-7",
      SYMPHONY_ISSUE_IDENTIFIER: "ENG-7",
      SYMPHONY_ISSUE_TITLE: "Fix it",
      SYMPHONY_ISSUE_STATE: "Todo",
      SYMPHONY_ISSUE_URL: "https://example.test/ENG-7",
      SYMPHONY_WORKSPACE: "/w/ENG-7",
      SYMPHONY_ATTEMPT: "2",
    });
    expect(hookEnvironment({ ...input, attempt: null })).toMatchObject({ SYMPHONY_ATTEMPT: "" });
  });

  it("bounds ticket text and takes NULs out of it", () => {
    const issue = makeIssue("ENG-7", { title: `a\0b${"x".repeat(300_000)}`, url: null });
    const env = hookEnvironment({ baseEnv: {}, secrets: [], issue, workspacePath: "/w", attempt: null });
    expect(env["SYMPHONY_ISSUE_TITLE"]).toMatch(/^abx+$/);
    expect(env["SYMPHONY_ISSUE_TITLE"]).toHaveLength(8_192);
    expect(env["SYMPHONY_ISSUE_URL"]).toBe("");
  });
});
