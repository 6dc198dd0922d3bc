/** Answers of a daemon that was left running over an upgrade. */
import { expect, it } from "vitest";
import { z } from "zod";
import { readAnswer } from "./answer.ts";

it("says which fields aren't understood, and that the daemon is of another version", () => {
  const schema = z.object({ mode: z.string(), tracker: z.object({ kind: z.string() }) });
  expect(readAnswer(schema, { mode: "running", tracker: { kind: "local" } }).mode).toBe("running");
  expect(() => readAnswer(schema, { mode: 5, tracker: {} })).toThrow(
    /isn't understood \(mode, tracker\.kind\): it runs another version of symphony; start it again with this one/,
  );
});
