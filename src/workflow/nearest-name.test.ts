/** Which known name a typing error is taken for. */
import { expect, test } from "vitest";

import { nearestName } from "./nearest-name.ts";

const KNOWN = ["interval_ms", "max_turns", "port", "host", "root", "title"];

test.each([
  ["max_turn", "max_turns"],
  ["maxTurns", "max_turns"],
  ["max-turns", "max_turns"],
  ["MAX_TURNS", "max_turns"],
  ["intervall_ms", "interval_ms"],
  ["titel", "title"],
  ["prot", "port"],
  ["polling", null],
  ["x", null],
  ["", null],
  ["max_turns_of_each_agent_in_the_whole_fleet", null],
])("%j is near %j", (name, near) => {
  expect(nearestName(name, KNOWN)).toBe(near);
});

test("the nearest of several wins", () => {
  expect(nearestName("active_state", ["active_dates", "active_states"])).toBe("active_states");
});
