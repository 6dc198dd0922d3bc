import { join } from "node:path";

import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { makeWorkspaceFixture, type WorkspaceFixture } from "../../test/support/workspaces.ts";

let dir: string;
let fixture: WorkspaceFixture;

beforeEach(async () => {
  fixture = await makeWorkspaceFixture();
  ({ dir } = fixture);
});
afterEach(async () => {
  await fixture.dispose();
});

describe("distinct identifiers", () => {
  const character = fc.constantFrom(
    "a",
    "A",
    "B",
    "/",
    "\\",
    "_",
    " ",
    ".",
    "-",
    "é",
    "É",
    "🙂",
    "\u202e",
    "\0",
    "\n",
    "0",
  );
  const identifier = fc.oneof(
    fc.array(character, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary", minLength: 1, maxLength: 300 }),
    fc.nat(2).map((n) => "x".repeat(299 + n)),
  );

  it("property: never share a workspace, whatever they hold", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(identifier, { minLength: 2, maxLength: 6 }), async (names) => {
        round += 1;
        const settings = fixture.settingsWith({}, { root: join(dir, `root-${round}`) });
        // One more name each, written like another's hashed key.
        const first = await fixture.prepare(makeIssue(names[0] ?? ""), { settings }).catch(() => null);
        const forged = first === null ? [] : [first.record.path.slice(first.record.path.lastIndexOf("/") + 1)];
        const all = [...new Set([...names, ...forged])];
        const results = await Promise.allSettled(all.map((name) => fixture.prepare(makeIssue(name), { settings })));
        const paths = results.flatMap((result) => (result.status === "fulfilled" ? [result.value.record.path] : []));
        expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(paths.length);
        for (const path of paths) {
          expect(path.slice(settings.workspace.root.length)).toMatch(/^\/[A-Za-z0-9._-]{1,200}$/);
        }
        for (const result of results) {
          if (result.status === "rejected") {
            expect(result.reason).toMatchObject({ code: expect.stringMatching(/^workspace_key_(taken|invalid)$/) });
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});
