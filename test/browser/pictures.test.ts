/** A daemon after a month of work: its history is drawn, and with SYMPHONY_PICTURES=1 the documentation's pictures are made of it. */
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestDaemon } from "../support/test-daemon.ts";
import { addressOf, goTo, launchChromium, openWindow } from "./browser.ts";
import { showcase } from "./showcase.ts";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");

let browser: Browser;
let daemon: TestDaemon;
let pastRuns: number;

beforeAll(async () => {
  browser = await launchChromium();
  ({ daemon, pastRuns } = await showcase());
});

afterAll(async () => {
  await browser.close();
  await daemon[Symbol.asyncDispose]();
});

/** Writes a picture where the documentation shows it; a usual test run leaves those alone. */
async function picture(page: Page, name: string): Promise<void> {
  if (process.env["SYMPHONY_PICTURES"] !== "1") return;
  await page.mouse.move(0, 0);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
}

/** How many colours a chart is drawn in, apart from what is drawn behind it: none means that nothing was drawn. */
async function coloursOf(page: Page, title: string): Promise<number> {
  const chart = page.locator("figure").filter({ has: page.getByRole("heading", { name: title }) });
  return chart.locator("canvas").evaluate((canvas) => {
    const context = (canvas as HTMLCanvasElement).getContext("2d");
    const { width, height } = canvas as HTMLCanvasElement;
    const data = context?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray();
    const counts = new Map<string, number>();
    for (let at = 0; at < data.length; at += 4) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4);
      // Greys are axes, grid and text.
      if (alpha === 255 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) {
        const colour = `${red} ${green} ${blue}`;
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
      }
    }
    return [...counts.values()].filter((count) => count > 100).length;
  });
}

test("the overview has cost and limits beside what runs", async () => {
  await using visit = await openWindow(browser, { deviceScaleFactor: 2, viewport: { width: 1280, height: 1020 } });
  const { page } = visit;
  await page.goto(addressOf(daemon));
  await page.getByRole("row", { name: /SHOP-241.*2 of 20.*\$\d/ }).waitFor();
  await page.getByText(/62 % used, resets in 1 h/).waitFor();
  expect(await page.getByRole("meter").count()).toBe(1);
  await picture(page, "overview");
});

test("an issue's timeline tells commands with their output, and changes with their diffs", async () => {
  await using visit = await openWindow(browser, { deviceScaleFactor: 2, viewport: { width: 1280, height: 1180 } });
  const { page } = visit;
  await page.goto(addressOf(daemon));
  await goTo(page, "#/issues/SHOP-241");
  await page.getByText("14 passed, 1 failed").first().waitFor({ state: "attached" });
  await page.getByText(/1 file:/).waitFor();
  const summary = page.locator("summary").filter({ hasText: "14 passed" });
  await summary.click();
  expect(await page.locator("details[open] pre").textContent()).toContain("keeps a tab inside of quotes");
  await picture(page, "issue");
});

test("the history's charts are drawn, and their tables say the same", async () => {
  await using visit = await openWindow(browser, { deviceScaleFactor: 2, viewport: { width: 1280, height: 1000 } });
  const { page } = visit;
  await page.goto(addressOf(daemon));
  await goTo(page, "#/history");
  await page.getByRole("heading", { name: "Cost per day" }).waitFor();
  await picture(page, "history");
  const titles = ["Tokens per day", "Cost per day", "Outcomes of runs", "How long runs took"];
  for (const title of titles) expect(await coloursOf(page, title), title).toBeGreaterThan(0);
  const outcomes = page.locator("figure").filter({ has: page.getByRole("heading", { name: "Outcomes of runs" }) });
  await outcomes.getByText("As a table").click();
  const cells = await outcomes.locator("tbody td").allTextContents();
  const told = cells.reduce((sum, text) => sum + Number(text), 0);
  // The failure and the stop of today are counted as well.
  expect(told).toBeGreaterThanOrEqual(pastRuns + 2);
});
