import { describe, expect, it } from "vitest";
import { RateLimits } from "./rate-limits.ts";

const NOW = 1_796_000_000_000;
const SOON = NOW / 1000 + 60;
const LATER = NOW / 1000 + 3600;

function update(fields: Readonly<Record<string, unknown>>): unknown {
  return { rateLimits: { limitId: "codex", primary: null, secondary: null, credits: null, ...fields } };
}

describe("rate limits", () => {
  it("merge what is known per limit; a null forgets nothing", () => {
    const limits = new RateLimits();
    limits.update(update({ primary: { usedPercent: 13, resetsAt: SOON }, limitName: "codex" }));
    limits.update(update({ limitId: "other", primary: { usedPercent: 77, resetsAt: null } }));
    expect(limits.update(update({ secondary: { usedPercent: 40, resetsAt: LATER } }))).toEqual({
      limitId: "codex",
      limitName: "codex",
      primary: { usedPercent: 13, resetsAt: SOON },
      secondary: { usedPercent: 40, resetsAt: LATER },
    });
  });

  it("of an account without any are no news", () => {
    const limits = new RateLimits();
    expect(limits.update(update({}))).toBeNull();
    expect(limits.update({ rateLimits: {} })).toBeNull();
    expect(limits.update({})).toBeNull();
    expect(limits.resetsAt(NOW)).toBeNull();
  });

  it("reset when the last spent window does", () => {
    const limits = new RateLimits();
    limits.update(update({ primary: { usedPercent: 100, resetsAt: SOON } }));
    expect(limits.resetsAt(NOW)).toBe(SOON * 1000);
    limits.update(update({ secondary: { usedPercent: 100, resetsAt: LATER } }));
    expect(limits.resetsAt(NOW)).toBe(LATER * 1000);
  });

  it.each([
    ["nothing is spent", { primary: { usedPercent: 99, resetsAt: SOON } }],
    ["the spent window names no time", { primary: { usedPercent: 100, resetsAt: null } }],
    ["the time is over", { primary: { usedPercent: 100, resetsAt: NOW / 1000 - 1 } }],
  ])("have no known reset when %s", (_name, fields) => {
    const limits = new RateLimits();
    limits.update(update(fields));
    expect(limits.resetsAt(NOW)).toBeNull();
  });
});
