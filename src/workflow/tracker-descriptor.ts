/** What the workflow loader must know of a tracker kind, without loading its adapter. */
import type { Secret } from "../domain/settings.ts";

export interface ProviderInput {
  /** `tracker.provider` merged with old flat keys, values untouched. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Resolves a value that is exactly `$NAME`; an unset or empty variable is a missing value (undefined). */
  resolve(value: unknown): unknown;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of WORKFLOW.md; relative paths are anchored here. */
  readonly baseDir: string;
}

export interface ProviderSettings {
  /** Resolved and checked; frozen into Settings.tracker.provider. */
  readonly provider: Readonly<Record<string, unknown>>;
  readonly secrets: readonly Secret[];
}

/** One per tracker kind, listed in tracker/registry.ts. Cheap to import. */
export interface TrackerDescriptor {
  readonly kind: string;
  readonly activeStates: readonly string[];
  readonly terminalStates: readonly string[];
  /** Keys that `tracker.provider` may hold; others are warned about with the nearest name. */
  readonly providerKeys: readonly string[];
  /** Keys that an older file may have directly under `tracker`. */
  readonly flatKeys: readonly string[];
  /** Throws AppError invalid_tracker_config or missing_tracker_secret that names key, value and mend. */
  parseProvider(input: ProviderInput): ProviderSettings;
}
