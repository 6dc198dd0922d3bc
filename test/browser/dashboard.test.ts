/** The dashboard in a real browser, on a real daemon with simulated agents: what it shows, and what can be done from it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestDaemon, type Sections } from "../support/test-daemon.ts";
import { addressOf, expectShown, goTo, launchChromium, openWindow } from "./browser.ts";
import { nameless, paleTexts, tooWide } from "./page-checks.ts";

const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;
const QUESTION = "Which database, staging or production?";

/** The agent asks a person, and the daemon listens on a port. */
const ASKING: Sections = {
  server: { port: 0 },
  approvals: { commands: "ask", questions: "ask" },
  codex: { approval_policy: "on-request" },
};

const WORKS = [[[{ do: "say", text: `At work on ${HOSTILE}` }, { do: "hang" }]]];
const ASKS = [
  [
    [
      { do: "ask", about: "question", text: QUESTION },
      { do: "tool", tool: "local_board", arguments: { action: "move", state: "Done" } },
    ],
  ],
];
const FAILS = [[[{ do: "fail", message: "the model answered 500", error: "internalServerError" }]]];

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(async () => {
  await browser.close();
});

/** One ticket at work, one that asks, one that failed and one that a person stopped. */
async function busyDaemon(): Promise<TestDaemon> {
  const daemon = await TestDaemon.make();
  await daemon.writeWorkflow({ ...ASKING, codex: { approval_policy: "on-request", command: daemon.agentCommand() } });
  await daemon.writeScript({ "T-1": WORKS, "T-2": ASKS, "T-3": FAILS, "T-4": WORKS });
  await daemon.writeTicket("T-1", { title: `Parse ${HOSTILE}`, url: "javascript:alert(3)" });
  for (const name of ["T-2", "T-3", "T-4"]) await daemon.writeTicket(name);
  await daemon.start();
  await daemon.untilInTurn("T-4");
  await daemon.ask("POST", "/api/v1/issues/T-4/stop");
  await daemon.until("one is at work, one asks, one waits and one is blocked", ({ running, retrying, blocked }) => {
    const isAsking = running.some((row) => row["question"] !== null);
    const hasSpoken = running.some((row) => String(row["last_message"]).includes(HOSTILE));
    return isAsking && hasSpoken && retrying.length === 1 && blocked.length === 1;
  });
  return daemon;
}

describe("the dashboard of a busy daemon", () => {
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await busyDaemon();
  });

  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  test("shows what runs, waits and is blocked, with turn, message and reason", async () => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    const running = page.getByRole("region", { name: "Running" });
    await expectShown(running.getByRole("row", { name: /T-1.*At work on.*in a turn.*1 of 20/ }));
    const waiting = page.getByRole("region", { name: "Waiting" });
    await expectShown(waiting.getByRole("row", { name: /T-3.*after a failure.*the model answered 500/ }));
    const needs = page.getByRole("region", { name: "Needs you" });
    await expectShown(needs.getByText("blocked: operator"));
    await expectShown(needs.getByText(QUESTION));
    await expectShown(page.getByRole("banner").getByText("live", { exact: true }));
  });

  test.each(["#/", "#/tickets", "#/history", "#/issues/T-1"])("shows hostile text as text at %s", async (view) => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    await goTo(page, view);
    await page.getByText(HOSTILE).first().waitFor();
    expect(await page.locator("#app img, #app script, a[href^='javascript']").count()).toBe(0);
  });

  test("takes the token out of the address, and acts on nothing without one", async () => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    await page.getByRole("button", { name: "Pause" }).waitFor();
    expect(page.url()).not.toContain("token");
    await page.reload();
    const unlock = page.getByRole("button", { name: "Read-only: unlock" });
    await unlock.waitFor();
    await page.getByRole("row", { name: /T-1/ }).waitFor();
    expect(await page.getByRole("button", { name: /^(Pause|Answer|Refresh)$/ }).count()).toBe(0);
    const token = decodeURIComponent(/token=(.*)$/.exec(addressOf(daemon))?.[1] ?? "");
    await unlock.click();
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Unlock", exact: true }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });

  test("says why a wrong token does nothing", async () => {
    await using visit = await openWindow(browser, {}, { complaints: /401/ });
    const { page } = visit;
    await page.goto(addressOf(daemon, "#token=wrong", false));
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Refresh" }).click();
    await expectShown(page.getByText(/send Authorization: Bearer with the token/));
  });

  test("is worked by keyboard alone: a control, its dialog, and back", async () => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press("Tab");
    const focused = page.locator(":focus");
    expect(await focused.textContent()).toBe("Skip to the content");
    while ((await focused.textContent()) !== "Pause") await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Pause dispatch?" });
    await dialog.waitFor();
    expect(await dialog.locator(":focus").count()).toBe(1);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await focused.textContent()).toBe("Pause");
    await page.keyboard.press("Enter");
    while ((await dialog.locator(":focus").textContent()) !== "Pause") await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Paused, operator.").waitFor();
    expect(daemon.snapshot().paused).toMatchObject([{ kind: "operator" }]);
    await page.getByRole("button", { name: "Resume" }).click();
    await dialog.page().getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await daemon.until("nothing is paused", ({ paused }) => paused.length === 0);
  });

  test.each(["light", "dark"] as const)("has contrast and names everywhere in the %s scheme", async (colorScheme) => {
    await using visit = await openWindow(browser, { colorScheme });
    const { page } = visit;
    await page.goto(addressOf(daemon));
    for (const [view, sight] of [
      ["#/", "Needs you"],
      ["#/tickets", "Tickets"],
      ["#/issues/T-1", "Timeline"],
      ["#/history", "Tickets worked on"],
    ] as const) {
      await goTo(page, view);
      await page.getByRole("heading", { name: sight }).first().waitFor();
      await page.getByText("T-1").first().waitFor();
      expect(await paleTexts(page), view).toEqual([]);
      expect(await nameless(page), view).toEqual([]);
    }
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe(colorScheme === "dark" ? "rgb(21, 23, 26)" : "rgb(247, 247, 245)");
  });

  test("fits a phone without scrolling sideways", async () => {
    await using visit = await openWindow(browser, { viewport: { width: 360, height: 720 }, isMobile: true });
    const { page } = visit;
    await page.goto(addressOf(daemon));
    for (const view of ["#/", "#/tickets", "#/history", "#/issues/T-1", "#/issues/T-3"]) {
      await goTo(page, view);
      await page
        .getByText(/T-[13]/)
        .first()
        .waitFor();
      expect(await tooWide(page), view).toEqual([]);
    }
  });

  test("tells why a ticket runs or doesn't, and its runs, turns and events, live", async () => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    await page.getByRole("region", { name: "Running" }).getByRole("link", { name: "T-1" }).click();
    await page.getByRole("heading", { name: /T-1 Parse/ }).waitFor();
    await expectShown(page.getByText(/\/workspaces\/T-1$/));
    await expectShown(page.getByRole("button", { name: /Run 1.*running.*1 turn/ }));
    await page.getByRole("button", { name: "Steer" }).click();
    await page.getByLabel("Message").fill("mind the tests");
    await page.getByRole("dialog").getByRole("button", { name: "Steer" }).click();
    // What the agent says to it arrives by the stream.
    await expectShown(page.getByRole("listitem").filter({ hasText: "Noted: mind the tests" }));
    await goTo(page, "#/issues/T-4");
    const gates = page.getByRole("region", { name: "Why it runs or doesn't" });
    await gates
      .getByRole("row", { name: /closed/ })
      .first()
      .waitFor();
  });

  test("an answer from the page is taken by the agent, which goes on to Done", async () => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    const question = page.getByRole("listitem").filter({ hasText: QUESTION });
    await question.getByLabel("Your answer to T-2").fill("staging");
    await question.getByRole("button", { name: "Answer" }).click();
    await question.waitFor({ state: "detached" });
    const [run] = await daemon.untilRunsEnded("T-2");
    expect(run?.outcome).toBe("succeeded");
    expect(await daemon.text("board", "T-2.md")).toContain("Done");
  });

  test("a blocked ticket that is released from its page runs again", async () => {
    await using visit = await openWindow(browser);
    const { page } = visit;
    await page.goto(addressOf(daemon));
    await goTo(page, "#/issues/T-4");
    await page.getByRole("button", { name: "Release" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
    await daemon.untilInTurn("T-4");
    await expectShown(page.getByText("running", { exact: true }));
  });
});

test("an approval is accepted or declined from the page, and its agent does as it was told", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow({ ...ASKING, codex: { approval_policy: "on-request", command: daemon.agentCommand() } });
  const asks = [
    [[{ do: "ask", about: "command", command: "touch allowed" }, { do: "say", text: "That was it." }, { do: "hang" }]],
  ];
  await daemon.writeScript({ "*": asks });
  for (const name of ["T-1", "T-2"]) await daemon.writeTicket(name);
  await daemon.start();
  await daemon.until("both ask", ({ running }) => running.filter((row) => row["question"] !== null).length === 2);
  await using visit = await openWindow(browser);
  const { page } = visit;
  await page.goto(addressOf(daemon));
  const boxOf = (name: string) =>
    page.getByRole("listitem").filter({ hasText: "touch allowed" }).filter({ hasText: name });
  await expectShown(boxOf("T-1").getByText("Approval: command"));
  expect(await boxOf("T-1").getByRole("textbox").count()).toBe(0);
  await boxOf("T-1").getByRole("button", { name: "Accept" }).click();
  await boxOf("T-1").waitFor({ state: "detached" });
  await goTo(page, "#/issues/T-2");
  await page.getByRole("button", { name: "Decline" }).click();
  await page.getByRole("button", { name: "Decline" }).waitFor({ state: "detached" });
  await daemon.until(
    "both go on",
    ({ running }) => running.filter((row) => String(row["last_message"]).includes("That was it.")).length === 2,
  );
  const isThere = ["T-1", "T-2"].map((name) => existsSync(join(daemon.dir, "workspaces", name, "allowed")));
  expect(isThere).toEqual([true, false]);
});

test("runs of a long history are numbered from the first one, and earlier ones can be read", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow({ server: { port: 0 } });
  await daemon.writeScript({ "T-1": WORKS });
  await daemon.writeTicket("T-1");
  await daemon.start();
  const { run_id: now } = await daemon.untilInTurn("T-1");
  const ledger = new Database(daemon.daemon.files.ledger);
  ledger.exec(`
    WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 120)
    INSERT INTO runs (run_id, issue_id, issue_identifier, started_at, ended_at, outcome, turns)
    SELECT 'old-' || k, issue_id, issue_identifier, started_at - 1000 * (121 - k), started_at - 1000 * (121 - k) + 1, 'failed', 1
    FROM runs, n WHERE run_id = '${String(now)}'`);
  ledger.close();
  await using visit = await openWindow(browser);
  const { page } = visit;
  await page.goto(addressOf(daemon));
  await goTo(page, "#/issues/T-1");
  await expectShown(page.getByRole("button", { name: /^Run 121 running/ }));
  await page.getByRole("button", { name: "Read earlier runs" }).click();
  await page.getByRole("button", { name: "Show all 121" }).click();
  await expectShown(page.getByRole("button", { name: /^Run 1 failed/ }));
  expect(await page.getByRole("button", { name: "Read earlier runs" }).count()).toBe(0);
});

test("on an address that others reach, the page says nothing before it has the token", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow({ server: { port: 0, host: "0.0.0.0" } });
  await daemon.writeScript({ "T-1": WORKS });
  await daemon.writeTicket("T-1");
  await daemon.start();
  await daemon.untilInTurn("T-1");
  await using visit = await openWindow(browser, {}, { complaints: /401/ });
  const { page } = visit;
  await page.goto(addressOf(daemon, "", false).replace("0.0.0.0", "127.0.0.1"));
  await page.getByRole("heading", { name: "Locked" }).waitFor();
  expect(await page.getByText("T-1").count()).toBe(0);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("main").getByRole("button", { name: "Unlock" }).click();
  await page.getByRole("main").getByText("That token isn't this daemon's.").waitFor();
  await page.getByLabel("Token").fill((await daemon.text("state", "token")).trim());
  await page.getByRole("main").getByRole("button", { name: "Unlock" }).click();
  await expectShown(page.getByRole("row", { name: /T-1/ }));
});

test("a browser without JavaScript is told where the facts are", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow({ server: { port: 0 } });
  await daemon.start();
  // Of a page of plain JSON, Chromium asks for an icon that there isn't.
  await using visit = await openWindow(browser, { javaScriptEnabled: false }, { complaints: /404/ });
  const { page } = visit;
  await page.goto(addressOf(daemon, "", false));
  await page.getByRole("link", { name: "/api/v1/state" }).click();
  expect(JSON.parse((await page.locator("body").textContent()) ?? "")).toMatchObject({ mode: "running" });
});

test("the page comes back by itself when the daemon does, and knows what it knew meanwhile", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow({ server: { port: 0 } });
  await daemon.writeScript({ "T-1": WORKS });
  await daemon.writeTicket("T-1");
  await daemon.start();
  await daemon.untilInTurn("T-1");
  await daemon.writeWorkflow({ server: { port: Number(new URL(addressOf(daemon)).port) } });
  await using visit = await openWindow(browser, {}, { complaints: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/ });
  const { page } = visit;
  await page.goto(addressOf(daemon));
  await page.getByRole("row", { name: /T-1/ }).waitFor();
  await daemon.stop();
  await page.getByText("connection lost, trying again").waitFor();
  await page.getByRole("row", { name: /T-1/ }).waitFor();
  await daemon.start();
  await expectShown(page.getByRole("banner").getByText("live", { exact: true }));
});

test("five hundred tickets: what is drawn is bounded, what didn't change isn't drawn again, and all can be found", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow({
    server: { port: 0 },
    polling: { interval_ms: 1000 },
    agent: { max_concurrent_agents: 1 },
  });
  await daemon.writeScript({ "*": WORKS });
  const names = Array.from({ length: 500 }, (_, index) => `T-${String(index + 1).padStart(3, "0")}`);
  await Promise.all(names.map((name) => daemon.writeTicket(name)));
  await daemon.start();
  await daemon.until("all were seen", ({ tracker }) => tracker["candidates_seen"] === 500);
  await using visit = await openWindow(browser);
  const { page } = visit;
  await page.goto(addressOf(daemon));
  await goTo(page, "#/tickets");
  const rows = page.locator("tbody tr");
  await page.getByRole("button", { name: "Show all 500" }).waitFor();
  expect(await rows.count()).toBe(100);
  await page.getByRole("button", { name: "Show all 500" }).click();
  await rows.nth(499).waitFor();
  // Marked by hand, and watched: a row that is drawn again would lose nothing of itself, so mutations are counted.
  await page.evaluate(() => {
    const changes: string[] = [];
    new MutationObserver((records) => changes.push(...records.map(({ target }) => target.nodeName))).observe(
      document.querySelector("tbody") ?? document.body,
      { subtree: true, childList: true, attributes: true, characterData: true },
    );
    Object.assign(globalThis, { changes });
  });
  const before = daemon.snapshot().tracker.last_ok_at;
  await daemon.until(
    "it was polled twice more",
    ({ tracker }) => Date.parse(tracker.last_ok_at ?? "") > Date.parse(before ?? "") + 1500,
  );
  await page.getByLabel(/^Filter/).fill("t-317");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  expect(await rows.first().textContent()).toContain("T-317");
  const changed = await page.evaluate(() => (globalThis as unknown as { changes: string[] }).changes);
  // The filter took rows away, which the body counts; no cell was touched.
  expect(new Set(changed)).toEqual(new Set(["TBODY"]));
});
