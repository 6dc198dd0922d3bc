import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MUTATIONS } from "./mutations.ts";

const SCHEDULER = join(import.meta.dirname, "..", "src", "scheduler");

it.each(MUTATIONS)("what `npm run mutations` turns around is there: $what", ({ file, from }) => {
  expect(readFileSync(join(SCHEDULER, file), "utf8").split(from)).toHaveLength(2);
});
