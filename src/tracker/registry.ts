/** The tracker kinds that there are. Descriptors are cheap; an adapter and what it imports are loaded only when its kind is used. */
import { AppError } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { TrackerDescriptor } from "../workflow/tracker-descriptor.ts";
import type { Accounts } from "./linear/accounts.ts";
import { linearDescriptor } from "./linear/descriptor.ts";
import { localDescriptor } from "./local/descriptor.ts";
import type { Tracker, Webhook } from "./port.ts";

/** What outlives an adapter. Adapters fill it; whoever builds one after another, as a reload does, hands it on. */
export interface Carried {
  /** Budgets and tokens belong to credentials: a reload must neither forget that Linear throttles us nor fetch a second token. */
  linear?: Accounts;
}

/** What every adapter is built from. */
export interface TrackerDeps {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly carried?: Carried;
}

export const trackerDescriptors: readonly TrackerDescriptor[] = [localDescriptor, linearDescriptor];

/** Builds the adapter of `settings.tracker.kind`. */
export async function createTracker(deps: TrackerDeps): Promise<Tracker> {
  const { kind } = deps.settings.tracker;
  switch (kind) {
    case "local":
      return (await import("./local/adapter.ts")).createLocalTracker(deps);
    case "linear":
      return (await import("./linear/adapter.ts")).createLinearTracker(deps);
    default:
      throw new AppError("unsupported_tracker_kind", `tracker.kind: "${kind}" is not supported; use local or linear`, {
        kind,
      });
  }
}

/** Judges deliveries of the tracker's webhook; null where none is set up: only Linear has one, and it needs its secret. */
export async function createWebhook({ settings, clock, log }: TrackerDeps): Promise<Webhook | null> {
  const { secret } = settings.server.webhooks.linear;
  if (secret === null) return null;
  if (settings.tracker.kind !== "linear") {
    log.warn(`server.webhooks.linear.secret has no effect: tracker.kind is ${settings.tracker.kind}`);
    return null;
  }
  return new (await import("./linear/webhook.ts")).WebhookVerifier(secret, clock);
}
