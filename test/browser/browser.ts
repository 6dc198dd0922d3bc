/** A real Chromium and the page of a real daemon in it; whatever the browser complains about fails the test. */
import { existsSync } from "node:fs";
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import type { TestDaemon } from "../support/test-daemon.ts";

const CHROMIUM = "/usr/bin/chromium";

/** Debian's. As root it has no sandbox of its own. */
export async function launchChromium(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) throw new Error(`the browser tests need ${CHROMIUM}: apt-get install chromium`);
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: CHROMIUM, args: [...asRoot, "--disable-dev-shm-usage"] });
}

/** What the console may say without a test failing. */
export interface Expected {
  readonly complaints?: RegExp;
}

/** A page, and what went wrong on it. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the console, broken policies among them, and exceptions. */
  readonly complaints: readonly string[];
}

/** A window of its own. Fails when it is disposed if the browser complained of anything else than what was expected. */
export async function openWindow(
  browser: Browser,
  options: BrowserContextOptions = {},
  { complaints: expected }: Expected = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`a script opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return {
    page,
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close();
      expect(complaints.filter((text) => expected?.test(text) !== true)).toEqual([]);
    },
  };
}

/** Where the dashboard of a test's daemon is, with or without the right to act. */
export function addressOf(daemon: TestDaemon, view = "", isOpen = true): string {
  const { dashboardUrl, url } = daemon.daemon;
  if (dashboardUrl === null || url === null) throw new Error("the daemon has no port");
  return isOpen ? dashboardUrl : `${url}/${view}`;
}

/** Waits until it can be seen, and fails when it can't be. */
export async function expectShown(locator: Locator): Promise<void> {
  await locator.first().waitFor();
  expect(await locator.count()).toBeGreaterThan(0);
}

/** Goes to another view as a person does who follows a link: the page is not loaded anew, and so keeps the token. */
export async function goTo(page: Page, fragment: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, fragment);
}
