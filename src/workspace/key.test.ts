import { createHash } from "node:crypto";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { workspaceKey } from "./key.ts";

const hashOf = (identifier: string): string => createHash("sha256").update(identifier).digest("hex").slice(0, 16);

describe("the workspace key", () => {
  it.each(["ENG-7", "a", "A.b_c-9", "...", "-rf", "x".repeat(200)])("keeps the identifier %s", (identifier) => {
    expect(workspaceKey(identifier)).toBe(identifier);
  });

  it.each([
    ["A/B", "A_B"],
    ["../../etc/passwd", ".._.._etc_passwd"],
    ["a b", "a_b"],
    ["ä", "_"],
    ["🙂", "_"],
    ["x\0y\n", "x_y_"],
    ["$(rm -rf ~)", "__rm_-rf___"],
    [".symphony", ".symphony"],
    [".Git", ".Git"],
  ])("turns %j into %s and the identifier's hash", (identifier, safe) => {
    expect(workspaceKey(identifier)).toBe(`${safe}-${hashOf(identifier)}`);
  });

  it("cuts and hashes a key of more than 200 bytes, changed or not", () => {
    const long = "x".repeat(201);
    expect(workspaceKey(long)).toBe(`${"x".repeat(183)}-${hashOf(long)}`);
    const changed = `/${"y".repeat(190)}`;
    expect(workspaceKey(changed)).toBe(`_${"y".repeat(182)}-${hashOf(changed)}`);
  });

  it.each(["", ".", ".."])("refuses %j", (identifier) => {
    expect(() => workspaceKey(identifier)).toThrow(expect.objectContaining({ code: "workspace_key_invalid" }));
  });

  it("property: any identifier gives one plain file name of at most 200 bytes, always the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 400 }), (identifier) => {
        fc.pre(identifier !== "." && identifier !== "..");
        const key = workspaceKey(identifier);
        expect(key).toMatch(/^[A-Za-z0-9._-]{1,200}$/);
        expect(["", ".", ".."]).not.toContain(key);
        expect(workspaceKey(identifier)).toBe(key);
      }),
    );
  });

  it("property: two identifiers share a key only when one is written like the other's hashed key", () => {
    const name = fc.array(fc.constantFrom("a", "A", "/", "_", " ", "-", ".", "é", "0"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(name, name, (one, two) => {
        const [a, b] = [one.join(""), two.join("")];
        fc.pre(a !== b && [a, b].every((identifier) => identifier !== "." && identifier !== ".."));
        expect(workspaceKey(a)).not.toBe(workspaceKey(b));
      }),
      { numRuns: 1000 },
    );
  });
});
