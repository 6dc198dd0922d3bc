/** How the adapter shows who it is, and what it does when it is no longer believed. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, describe, expect, it } from "vitest";

import type { LinearServer } from "../../../test/fakes/linear/server.ts";
import { startLinearServer } from "../../../test/fakes/linear/server.ts";
import { captureLog } from "../../../test/support/captured-log.ts";
import { linearTrackerOn } from "../../../test/support/linear-tracker.ts";
import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { issueId } from "../../domain/ids.ts";
import type { Tracker } from "../port.ts";

const CLIENT = { id: "the-client", secret: "the-client-secret" };

let server: LinearServer;
let tracker: Tracker;
const log = captureLog();

afterEach(async () => {
  await tracker.close();
  await server.close();
});

function todo(): Promise<readonly unknown[]> {
  return tracker.fetchIssuesByStates(["Todo"]);
}

function accepted(): boolean[] {
  return server.requests.map((request) => request.authorized);
}

describe("a credential", () => {
  it("that is a personal key goes bare, one that is an OAuth token goes as Bearer", async () => {
    server = await startLinearServer({ oauthTokens: new Set(["lin_oauth_token"]) });
    for (const api_key of [server.apiKey, "lin_oauth_token"]) {
      tracker = await linearTrackerOn(server, { api_key });
      expect(await todo()).toEqual([]);
    }
    expect(accepted()).toEqual([true, true]);
  });

  it("that is refused is not tried again within the read", async () => {
    server = await startLinearServer();
    tracker = await linearTrackerOn(server, { api_key: "lin_api_wrong" });
    await expect(todo()).rejects.toMatchObject({ code: "tracker_status", data: { reason: "authentication" } });
    expect(accepted()).toEqual([false]);
  });

  it("from a file is read again when it is refused, so that a key can be rotated", async () => {
    await using dir = await makeTempDir();
    const file = join(dir.path, "key");
    server = await startLinearServer();
    await writeFile(file, "lin_api_old\n");
    tracker = await linearTrackerOn(server, { api_key_file: file });
    await expect(todo()).rejects.toMatchObject({ data: { reason: "authentication" } });
    await writeFile(file, `${server.apiKey}\n`);
    expect(await todo()).toEqual([]);
    expect(accepted()).toEqual([false, false, true]);
  });
});

describe("an OAuth client", () => {
  const start = async (secret = CLIENT.secret): Promise<void> => {
    server = await startLinearServer({ oauthClient: CLIENT });
    const oauth = { client_id: CLIENT.id, client_secret: secret, token_url: server.tokenUrl };
    tracker = await linearTrackerOn(server, { oauth }, { log });
  };

  it("fetches one token for all that goes on at once, and keeps it", async () => {
    await start();
    await Promise.all([
      todo(),
      todo(),
      tracker.fetchIssuesByIds([issueId(server.board.createIssue({ title: "A" }).id)]),
    ]);
    await todo();
    expect(server.tokens.issued).toBe(1);
    expect(accepted()).toEqual([true, true, true, true]);
  });

  it("renews a refused token once for all who met the refusal, and repeats their requests", async () => {
    await start();
    await todo();
    server.tokens.revoke();
    await Promise.all([todo(), todo(), todo()]);
    expect(server.tokens.issued).toBe(2);
    expect(accepted().filter(Boolean)).toHaveLength(4);
  });

  it("with a wrong secret is an authentication failure that names the setting and shows no secret", async () => {
    await start("not-the-secret");
    await expect(todo()).rejects.toMatchObject({
      code: "tracker_status",
      message: "Linear refused the OAuth client; check tracker.provider.oauth",
      data: { reason: "authentication", retryable: false },
    });
    expect(log.lines().join()).not.toContain("not-the-secret");
  });

  it("whose token address can't be reached is a failed read, and the next one tries again", async () => {
    await start();
    await tracker.close();
    const oauth = { client_id: CLIENT.id, client_secret: CLIENT.secret, token_url: "http://127.0.0.1:1/token" };
    tracker = await linearTrackerOn(server, { oauth });
    for (let n = 0; n < 2; n += 1) {
      await expect(todo()).rejects.toMatchObject({ code: "tracker_request", data: { retryable: true } });
    }
  });
});

describe("a reload of the settings", () => {
  it("forgets neither that Linear throttles the credential nor its token", async () => {
    server = await startLinearServer({ oauthClient: CLIENT });
    const oauth = { client_id: CLIENT.id, client_secret: CLIENT.secret, token_url: server.tokenUrl };
    const carried = {};
    const before = await linearTrackerOn(server, { oauth }, { carried });
    server.fail({ fault: { kind: "ratelimited" }, times: 1 });
    await expect(before.fetchIssuesByStates(["Todo"])).rejects.toMatchObject({ code: "tracker_rate_limited" });
    tracker = await linearTrackerOn(server, { oauth, team: "ENG" }, { carried });
    await expect(todo()).rejects.toMatchObject({ code: "tracker_rate_limited" });
    expect(accepted()).toEqual([true]);
    expect(server.tokens.issued).toBe(1);
    expect(tracker.usage?.()).toEqual(before.usage?.());
    await before.close();
  });

  it("to another credential starts with a budget of its own", async () => {
    server = await startLinearServer({ oauthTokens: new Set(["lin_oauth_token"]) });
    const carried = {};
    const before = await linearTrackerOn(server, {}, { carried });
    server.fail({ fault: { kind: "ratelimited" }, times: 1 });
    await expect(before.fetchIssuesByStates(["Todo"])).rejects.toMatchObject({ code: "tracker_rate_limited" });
    tracker = await linearTrackerOn(server, { api_key: "lin_oauth_token" }, { carried });
    expect(await todo()).toEqual([]);
    await before.close();
  });
});
