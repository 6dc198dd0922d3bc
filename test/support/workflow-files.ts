/** WORKFLOW.md files for tests, and tracker kinds that exist only there. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { AppError, isAppError } from "../../src/domain/errors.ts";
import { loadWorkflow, type LoadedWorkflow, type LoadOptions } from "../../src/workflow/load.ts";
import type { TrackerDescriptor } from "../../src/workflow/tracker-descriptor.ts";

/** A kind that needs nothing. */
const plainDescriptor: TrackerDescriptor = {
  kind: "plain",
  activeStates: ["Todo", "In Progress"],
  terminalStates: ["Done"],
  providerKeys: ["path"],
  flatKeys: [],
  parseProvider: ({ raw, resolve }) => ({ provider: { path: resolve(raw["path"]) }, secrets: [] }),
};

/** A kind that needs a key, and that older files give its keys without `provider`. */
const keyedDescriptor: TrackerDescriptor = {
  kind: "keyed",
  activeStates: ["Open"],
  terminalStates: ["Shut"],
  providerKeys: ["api_key", "project_slug"],
  flatKeys: ["api_key", "project_slug"],
  parseProvider({ raw, resolve }) {
    const value = resolve(raw["api_key"]);
    if (typeof value !== "string") {
      const message = "tracker.provider.api_key: the key is missing; set it";
      throw new AppError("missing_tracker_secret", message, { key: "tracker.provider.api_key" });
    }
    const provider = { api_key: value, project_slug: resolve(raw["project_slug"]) };
    return { provider, secrets: [{ value, envNames: ["KEYED_API_KEY"] }] };
  },
};

/** Both kinds and an environment of the test's own. */
export function loadOptions(env: LoadOptions["env"] = {}): LoadOptions {
  return { descriptors: [plainDescriptor, keyedDescriptor], env, homeDir: "/home/tester" };
}

/** Writes the file into `folder` and answers its path. */
export function writeWorkflow(folder: string, content: string): string {
  const path = join(folder, "WORKFLOW.md");
  writeFileSync(path, content);
  return path;
}

/** Front matter for the plain kind, with `yaml` behind it, and a body. */
export function workflowText(yaml = "", body = "Work on {{ issue.identifier }}."): string {
  return `---\ntracker:\n  kind: plain\n${yaml}\n---\n${body}\n`;
}

/** Loads a file with this content. */
export function loadText(folder: string, content: string, env: LoadOptions["env"] = {}): LoadedWorkflow {
  return loadWorkflow(writeWorkflow(folder, content), loadOptions(env));
}

/** The AppError that `work` throws; fails when it throws nothing or something else. */
export function appErrorOf(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (isAppError(error)) return error;
    throw error;
  }
  throw new Error("expected an AppError, and nothing was thrown");
}
