/** The `tracker` section: which adapter it names, and what that adapter makes of its own keys. */
import { AppError, isAppError } from "../../domain/errors.ts";
import { normalizeState } from "../../domain/issue.ts";
import type { Secret, TrackerSettings } from "../../domain/settings.ts";
import type { FrontMatter, KeyPath } from "../front-matter-yaml.ts";
import { nearestName } from "../nearest-name.ts";
import { shown, type Problems } from "./problems.ts";
import { resolveReference, type Environment } from "../references.ts";
import type { WorkflowValues } from "./schema.ts";
import type { TrackerDescriptor } from "../tracker-descriptor.ts";

/** The descriptor of a kind; throws `unsupported_tracker_kind` for one that nobody knows. */
export function findDescriptor(
  kind: string,
  descriptors: readonly TrackerDescriptor[],
  problems: Problems,
): TrackerDescriptor {
  const found = descriptors.find((descriptor) => descriptor.kind === kind);
  if (found !== undefined) return found;
  const known = descriptors.map((descriptor) => descriptor.kind);
  const near = nearestName(kind, known);
  const mend = near === null ? `use ${known.join(" or ")}` : `did you mean ${near}? Known are ${known.join(" and ")}`;
  const message = problems.at(["tracker", "kind"], `${shown(kind)} is not supported; ${mend}`);
  throw new AppError("unsupported_tracker_kind", message, { kind, known });
}

interface TrackerContext {
  readonly descriptor: TrackerDescriptor;
  readonly matter: FrontMatter;
  readonly env: Environment;
  readonly baseDir: string;
  readonly problems: Problems;
}

/** The section as the file has it. */
function trackerSection(matter: FrontMatter): Readonly<Record<string, unknown>> {
  const section = matter.values["tracker"];
  return typeof section === "object" && section !== null ? (section as Record<string, unknown>) : {};
}

/** `provider` merged with the old flat keys that this adapter takes; the newer place wins. Keys without a value are left out. */
function providerValues(context: TrackerContext, provider: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { descriptor, matter, problems } = context;
  const section = trackerSection(matter);
  const merged: Record<string, unknown> = {};
  for (const key of descriptor.flatKeys) {
    const value = Object.hasOwn(section, key) ? section[key] : undefined;
    if (value === undefined || value === null) continue;
    if (Object.hasOwn(provider, key)) {
      problems.warn(
        ["tracker", key],
        `is ignored, because tracker.provider.${key} is there too; remove one of the two`,
      );
    }
    merged[key] = value;
  }
  for (const [key, value] of Object.entries(provider)) if (value !== null) merged[key] = value;
  return merged;
}

/** State names trimmed, the first spelling of each; a blank one is a mistake. */
function stateNames(key: string, names: readonly string[], problems: Problems): readonly string[] {
  const kept = new Map<string, string>();
  names.forEach((name, index) => {
    if (name.trim() === "") {
      problems.error(["tracker", key, index], "the state name is blank; write it, or remove the entry");
    } else if (!kept.has(normalizeState(name))) kept.set(normalizeState(name), name.trim());
  });
  return [...kept.values()];
}

function checkStates(active: readonly string[], terminal: readonly string[], problems: Problems): void {
  if (active.length === 0) {
    problems.error(
      ["tracker", "active_states"],
      "the list is empty, so no issue would ever start; name at least one state",
    );
  }
  const ends = new Set(terminal.map(normalizeState));
  for (const name of active.filter((state) => ends.has(normalizeState(state)))) {
    const text = `${shown(name)} is also one of tracker.terminal_states; a state is active or terminal, so remove it from one of them`;
    problems.error(["tracker", "active_states"], text);
  }
}

/** The part of the section that every tracker has; problems are collected, not thrown. */
export function trackerSettings(
  values: WorkflowValues["tracker"],
  context: TrackerContext,
): Omit<TrackerSettings, "provider"> {
  const { descriptor, problems } = context;
  const activeStates = stateNames("active_states", values.active_states ?? descriptor.activeStates, problems);
  const terminalStates = stateNames("terminal_states", values.terminal_states ?? descriptor.terminalStates, problems);
  checkStates(activeStates, terminalStates, problems);
  const requiredLabels = [...new Set(values.required_labels.map(normalizeState))];
  const excludedLabels = [...new Set(values.excluded_labels.map(normalizeState))].filter((label) => label !== "");
  if (requiredLabels.includes("")) {
    problems.warn(
      ["tracker", "required_labels"],
      "holds a blank label, which no issue has, so nothing will start; remove it",
    );
  }
  for (const label of excludedLabels.filter((name) => requiredLabels.includes(name))) {
    problems.warn(["tracker", "excluded_labels"], `${shown(label)} is also a required label, so nothing will start`);
  }
  return { kind: descriptor.kind, requiredLabels, excludedLabels, activeStates, terminalStates };
}

/** What the adapter makes of its keys. Its own error gets the file and the line, and keeps its code and data. */
export function parseProvider(
  provider: Readonly<Record<string, unknown>>,
  context: TrackerContext,
): { readonly provider: Readonly<Record<string, unknown>>; readonly secrets: readonly Secret[] } {
  const { descriptor, env, baseDir, problems } = context;
  const raw = providerValues(context, provider);
  try {
    return descriptor.parseProvider({ raw, env, baseDir, resolve: (value) => resolveReference(value, env) });
  } catch (error) {
    if (!isAppError(error)) throw error;
    const where = problems.where(providerKey(error.data["key"], context));
    throw new AppError(error.code, `${where}: ${error.message}`, error.data, { cause: error });
  }
}

/** Where the file has the key that an adapter complains about. */
function providerKey(key: unknown, { descriptor, matter }: TrackerContext): KeyPath {
  const name = typeof key === "string" ? key.slice(key.lastIndexOf(".") + 1) : "";
  const isFlat = descriptor.flatKeys.includes(name) && Object.hasOwn(trackerSection(matter), name);
  return isFlat ? ["tracker", name] : ["tracker", "provider", name];
}
