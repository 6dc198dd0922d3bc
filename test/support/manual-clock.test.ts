/** The test clock itself: a wrong one would make every test on it worthless. */
import { expect, test } from "vitest";
import { ManualClock } from "./manual-clock.ts";

test("timers fire in the order of their due times, each at its own time", async () => {
  const clock = new ManualClock(1000);
  const fired: [string, number][] = [];
  for (const [name, delayMs] of [
    ["late", 30],
    ["early", 10],
    ["twin", 10],
    ["never", 31],
  ] as const) {
    clock.setTimer(delayMs, () => fired.push([name, clock.now()]));
  }
  await clock.advance(30);
  expect(fired).toEqual([
    ["early", 1010],
    ["twin", 1010],
    ["late", 1030],
  ]);
  expect([clock.now(), clock.nextDueAt(), clock.armedCount()]).toEqual([1030, 1031, 1]);
});

test("what a timer sets in motion runs before the next timer, and may arm one within the same advance", async () => {
  const clock = new ManualClock(0);
  const steps: string[] = [];
  async function loop(): Promise<void> {
    for (let round = 1; round <= 3; round += 1) {
      await clock.sleep(10);
      await Promise.resolve();
      steps.push(`loop ${round} at ${clock.now()}`);
    }
  }
  const done = loop();
  clock.setTimer(15, () => steps.push(`timer at ${clock.now()}`));
  await clock.advance(30);
  await done;
  expect(steps).toEqual(["loop 1 at 10", "timer at 15", "loop 2 at 20", "loop 3 at 30"]);
});

test("a cancelled timer never fires, and a negative delay is due now", async () => {
  const clock = new ManualClock(5);
  const fired: string[] = [];
  clock.setTimer(1, () => fired.push("cancelled")).cancel();
  clock.setTimer(-100, () => fired.push("overdue"));
  expect(clock.nextDueAt()).toBe(5);
  await clock.advance(0);
  expect(fired).toEqual(["overdue"]);
  await clock.advance(10);
  expect(fired).toEqual(["overdue"]);
});
