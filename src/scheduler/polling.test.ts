import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeSettings } from "../../test/support/issues.ts";
import { SchedulerDriver } from "../../test/support/scheduler.ts";

const FIVE_MINUTES = 300_000;

function driverAt(intervalMs: number): SchedulerDriver {
  const settings = makeSettings();
  const driver = new SchedulerDriver({ ...settings, polling: { intervalMs } });
  driver.boot();
  driver.tick([]);
  return driver;
}

/** The tracker's word, followed by its poll where one is due at once. */
function word(driver: SchedulerDriver): void {
  driver.send({ kind: "tracker_changed" });
  if (driver.effect("poll") !== undefined) driver.tick([]);
}

describe("a tracker that says by itself what changes", () => {
  it("is polled at once, long before the interval is over", () => {
    const driver = driverAt(3_600_000);
    driver.advance(60_000);
    expect(driver.effect("poll")).toBeUndefined();
    driver.send({ kind: "tracker_changed" });
    expect(driver.effect("poll")).toBeDefined();
  });

  it("is polled once for many words that come together, and half a second later once more for those that came since", () => {
    const driver = driverAt(30_000);
    driver.advance(10_000);
    let polls = 0;
    for (let n = 0; n < 100; n += 1) {
      driver.send({ kind: "tracker_changed" });
      if (driver.effect("poll") !== undefined) polls += 1;
    }
    expect(polls).toBe(1);
    driver.tick([]);
    expect(driver.effect("poll")).toBeUndefined();
    driver.advance(499);
    expect(driver.effect("poll")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("poll")).toBeDefined();
  });

  it("that never stops saying so is polled every five seconds", () => {
    const driver = driverAt(3_600_000);
    driver.advance(10_000);
    const polledAt: number[] = [];
    for (let ms = 0; ms < 300_000; ms += 100) {
      driver.send({ kind: "tracker_changed" });
      if (driver.effect("poll") === undefined) driver.advance(0);
      if (driver.effect("poll") !== undefined) {
        polledAt.push(driver.now);
        driver.tick([]);
      }
      driver.now += 100;
    }
    const gaps = polledAt.map((at, n) => at - (polledAt[n - 1] ?? at));
    expect(gaps.slice(1, 5).every((gap) => gap < 1_000)).toBe(true);
    expect(gaps.slice(8).every((gap) => gap === 5_000)).toBe(true);
    expect(polledAt.length).toBeGreaterThan(60);
  });

  it("is polled every five minutes beside that, and by the settings again when no word has come for fifteen", () => {
    const driver = driverAt(30_000);
    driver.advance(10_000);
    word(driver);
    const gaps: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      gaps.push(driver.state.nextPollAt - driver.now);
      driver.tick([]);
    }
    expect(gaps).toEqual([FIVE_MINUTES, FIVE_MINUTES, FIVE_MINUTES, 30_000]);
  });

  it("is never polled more often than the settings say", () => {
    const driver = driverAt(FIVE_MINUTES + 1);
    driver.advance(10_000);
    word(driver);
    expect(driver.state.nextPollAt - driver.now).toBe(FIVE_MINUTES + 1);
  });

  it("is asked again soon when the poll that a word led to has failed", () => {
    const driver = driverAt(30_000);
    driver.advance(10_000);
    driver.send({ kind: "tracker_changed" });
    const poll = driver.effect("poll")?.poll ?? expect.fail("no poll");
    driver.send({
      kind: "poll_failed",
      poll,
      failure: { code: "tracker_request", message: "x", resetAt: null },
    });
    expect(driver.state.nextPollAt - driver.now).toBeLessThan(120_000);
  });

  it("is not polled before the reset while it throttles, however many words come", () => {
    const driver = driverAt(30_000);
    driver.advance(30_000);
    const poll = driver.effect("poll")?.poll ?? expect.fail("no poll");
    const resetAt = driver.now + 90_000;
    driver.send({ kind: "poll_failed", poll, failure: { code: "tracker_rate_limited", message: "x", resetAt } });
    for (const ms of [10_000, 79_999]) {
      driver.advance(ms);
      driver.send({ kind: "tracker_changed" });
      expect(driver.effect("poll")).toBeUndefined();
    }
    driver.advance(1);
    expect(driver.effect("poll")).toBeDefined();
  });

  it("is polled within five seconds of every word, and not much more often than that", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 50 }), (pauses) => {
        const driver = driverAt(3_600_000);
        const startedAt = driver.now;
        let polls = 0;
        let unheard = false;
        const look = (): void => {
          if (driver.effect("poll") === undefined) return;
          polls += 1;
          unheard = false;
          driver.tick([]);
        };
        for (const pause of pauses) {
          for (let left = pause; left > 0; left -= 1_000) {
            driver.advance(Math.min(left, 1_000));
            look();
          }
          unheard = true;
          driver.send({ kind: "tracker_changed" });
          look();
        }
        driver.advance(5_000);
        look();
        expect(unheard).toBe(false);
        expect(polls).toBeLessThanOrEqual((driver.now - startedAt) / 5_000 + 6);
      }),
      { numRuns: 50 },
    );
  });
});
