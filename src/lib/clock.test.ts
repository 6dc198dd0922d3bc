/** The machine's clock, and what a sleep leaves behind on any clock. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { systemClock } from "./clock.ts";

test("a timer fires once, and not before its time", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  systemClock.setTimer(30, () => resolve(performance.now() - startedAt));
  // setTimeout counts whole milliseconds, so it may be early by less than one.
  expect(await promise).toBeGreaterThanOrEqual(29);
});

test("a cancelled timer never fires", async () => {
  let fired = false;
  const timer = systemClock.setTimer(1, () => {
    fired = true;
  });
  timer.cancel();
  timer.cancel();
  await systemClock.sleep(20);
  expect(fired).toBe(false);
});

test("a wait that is longer than setTimeout can count doesn't fire at once", async () => {
  let fired = false;
  const timer = systemClock.setTimer(2 ** 31 + 1000, () => {
    fired = true;
  });
  await systemClock.sleep(20);
  timer.cancel();
  expect(fired).toBe(false);
});

test("a sleep that is aborted rejects with the reason itself", async () => {
  const reason = { kind: "stalled" };
  const controller = new AbortController();
  const sleep = systemClock.sleep(60_000, controller.signal);
  controller.abort(reason);
  await expect(sleep).rejects.toBe(reason);
  await expect(systemClock.sleep(60_000, controller.signal)).rejects.toBe(reason);
});

test("a sleep leaves neither a listener nor a timer behind, however it ends", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const slept = clock.sleep(10, controller.signal);
  await clock.advance(10);
  await slept;
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);

  const aborted = clock.sleep(10, controller.signal);
  controller.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  expect(clock.armedCount()).toBe(0);
});
