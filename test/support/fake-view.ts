/** What the API shows, made up: for tests of what stands around it. Whatever a test doesn't give fails when it is asked for. */
import { expect } from "vitest";
import type { DaemonView } from "../../src/http/view.ts";

function unasked(name: string): () => never {
  return () => expect.fail(`${name} was not expected to be asked for`);
}

/** A view of a daemon that does nothing. */
export function fakeView(given: Partial<DaemonView> = {}): DaemonView {
  return {
    snapshot: () => ({}),
    issue: () => null,
    issues: unasked("issues"),
    explain: unasked("explain"),
    questions: unasked("questions"),
    ledger: {
      runs: unasked("runs"),
      runCount: unasked("the number of runs"),
      run: unasked("run"),
      events: unasked("events"),
      issues: unasked("issues of the ledger"),
      days: unasked("days"),
    },
    openStream: unasked("stream"),
    usage: unasked("usage"),
    metrics: unasked("metrics"),
    health: unasked("health"),
    readiness: unasked("readiness"),
    issueId: () => null,
    operate: unasked("operate"),
    refresh: unasked("refresh"),
    ...given,
  };
}
