/** The local board's settings: `tracker.provider.path` and `tracker.provider.states`. */
import { statSync, type Stats } from "node:fs";

import { AppError, errorMessage } from "../../domain/errors.ts";
import { expandPath, homeDirOf } from "../../workflow/paths.ts";
import type { ProviderInput, ProviderSettings, TrackerDescriptor } from "../../workflow/tracker-descriptor.ts";

/** What the adapter reads from `Settings.tracker.provider`. */
export interface LocalProvider {
  /** Absolute path of the board's folder. */
  readonly path: string;
  /** State names beyond the active and terminal ones that a ticket may be moved to. */
  readonly states: readonly string[];
}

function invalid(key: string, value: unknown, problem: string): AppError {
  const shown = value === undefined ? "" : ` ${JSON.stringify(value)}`;
  return new AppError("invalid_tracker_config", `tracker.provider.${key}:${shown} ${problem}`, {
    key: `tracker.provider.${key}`,
    value,
  });
}

function parsePath(input: ProviderInput): string {
  const written = input.raw["path"];
  const value = input.resolve(written);
  if (value === undefined || value === null || value === "") {
    throw invalid("path", written, "is missing; give the folder that holds the tickets, such as ./board");
  }
  if (typeof value !== "string") {
    throw invalid("path", value, "is no text; give the folder that holds the tickets, such as ./board");
  }
  const expanded = expandPath(value, { env: input.env, homeDir: homeDirOf(input.env), baseDir: input.baseDir });
  if ("unset" in expanded) {
    throw invalid("path", value, `uses $${expanded.unset}, which is not set; set it, or write the path out`);
  }
  const { path } = expanded;
  let stats: Stats | undefined;
  try {
    stats = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw invalid("path", path, `can't be looked at (${errorMessage(error)}); correct the path or its permissions`);
  }
  if (stats === undefined) throw invalid("path", path, "does not exist; make the folder, or correct the path");
  if (!stats.isDirectory()) throw invalid("path", path, "is not a folder; give the folder that holds the tickets");
  return path;
}

function parseStates(input: ProviderInput): readonly string[] {
  const value = input.raw["states"] ?? [];
  const isNames = Array.isArray(value) && value.every((name) => typeof name === "string" && name.trim() !== "");
  if (!isNames) {
    throw invalid("states", value, "is not a list of state names; write it such as [Backlog, Human Review]");
  }
  return (value as readonly string[]).map((name) => name.trim());
}

/** Tickets as Markdown files in a folder: no account, no network, no secret. */
export const localDescriptor: TrackerDescriptor = {
  kind: "local",
  activeStates: ["Todo", "In Progress"],
  terminalStates: ["Done", "Closed", "Cancelled", "Canceled", "Duplicate"],
  providerKeys: ["path", "states"],
  flatKeys: [],
  parseProvider(input): ProviderSettings {
    const provider: LocalProvider = { path: parsePath(input), states: parseStates(input) };
    return { provider: { ...provider }, secrets: [] };
  },
};
