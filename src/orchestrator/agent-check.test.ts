/** Dispatch waits for the first look at the agent: it is told of the login once, however the look ends. */
import { expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { makeSettings } from "../../test/support/issues.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { AgentBackend, AgentCheck, CheckRequest } from "../agent/port.ts";
import type { Event } from "../scheduler/events.ts";
import { AgentWatch } from "./agent-check.ts";

const OK = { state: "ok", message: "logged in" } as const;
const FOUND: AgentCheck = { version: "1", login: OK, sandbox: OK, warnings: [] };

/** What is posted when the agent is looked at so. */
async function postedBy(check: (request: CheckRequest) => Promise<AgentCheck>): Promise<readonly Event[]> {
  const posted: Event[] = [];
  const ended = Promise.withResolvers<void>();
  const backend: AgentBackend = {
    name: "scripted",
    open: () => Promise.reject(new Error("nothing is opened")),
    // The watch goes on in what is queued by then.
    check: (request) => check(request).finally(() => setImmediate(ended.resolve)),
    close: async () => undefined,
  };
  const watch = new AgentWatch({
    backend,
    clock: new ManualClock(),
    log: captureLog().log,
    ledgerId: "l",
    settings: () => makeSettings(),
    post: (event) => posted.push(event),
  });
  watch.look();
  await ended.promise;
  await watch.stop();
  return posted;
}

it.each([
  [
    "as soon as it is known",
    async ({ loginFound }: CheckRequest) => {
      loginFound?.(OK);
      return FOUND;
    },
    "ok",
  ],
  ["by an agent that tells all at once", async () => FOUND, "ok"],
  [
    "when the rest of the look fails",
    async ({ loginFound }: CheckRequest) => {
      loginFound?.(OK);
      throw new Error("gone");
    },
    "ok",
  ],
  [
    "when the agent can't be looked at",
    async () => {
      throw new Error("no such program");
    },
    "unknown",
  ],
] as const)("%s", async (_when, check, login) => {
  expect(await postedBy(check)).toMatchObject([{ kind: "agent_checked", login }]);
});
