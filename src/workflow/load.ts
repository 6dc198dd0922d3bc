/** Turns one WORKFLOW.md into frozen settings and a checked prompt template, or into one error that names everything to mend. */
import { dirname, resolve } from "node:path";

import { isAppError, type AppError } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";
import { checkTogether, refuseWorkers } from "./settings/cross-field.ts";
import { parseFrontMatter, type FrontMatter } from "./front-matter-yaml.ts";
import { splitWorkflow } from "./front-matter.ts";
import { parseValues } from "./settings/parse-values.ts";
import { homeDirOf, type PathContext } from "./paths.ts";
import { Problems } from "./settings/problems.ts";
import { resolveReferences, type Environment, type Resolved } from "./references.ts";
import type { WorkflowValues } from "./settings/schema.ts";
import { parseTemplate, type PromptTemplate } from "./template.ts";
import { toSettings, type SettingsBase } from "./settings/to-settings.ts";
import type { ProviderSettings, TrackerDescriptor } from "./tracker-descriptor.ts";
import { findDescriptor, parseProvider, trackerSettings } from "./settings/tracker-section.ts";
import { warnAboutUnknownKeys } from "./settings/unknown-keys.ts";
import { decodeWorkflow, readWorkflowFile, revisionOf } from "./workflow-file.ts";

/** What a load depends on beside the file. */
export interface LoadOptions {
  /** The tracker kinds that there are. */
  readonly descriptors: readonly TrackerDescriptor[];
  /** Where `$NAME`s are looked up. */
  readonly env: Environment;
  /** Where `~` leads; by default `HOME`, else the machine's answer. */
  readonly homeDir?: string;
}

/** One revision of the file, whole. */
export interface LoadedWorkflow {
  readonly settings: Settings;
  readonly prompt: PromptTemplate;
  /** One line each, with file, line and key. */
  readonly warnings: readonly string[];
}

/** A parsed file on its way to settings. */
interface Draft {
  readonly path: string;
  readonly revision: string;
  readonly body: string;
  readonly matter: FrontMatter;
  readonly resolved: Resolved;
  readonly problems: Problems;
  readonly options: LoadOptions;
}

/**
 * Reads and validates the file whole. Throws an AppError: `missing_workflow_file`, `workflow_parse_error`,
 * `workflow_front_matter_not_a_map`, `invalid_workflow_config` (a line for each problem), `unsupported_tracker_kind`, what the
 * tracker's descriptor throws, `template_parse_error` or `template_render_error`.
 */
export function loadWorkflow(path: string, options: LoadOptions): LoadedWorkflow {
  const absolute = resolve(path);
  return parseWorkflow(absolute, readWorkflowFile(absolute), options);
}

/** As {@link loadWorkflow}, for bytes that have been read. `path` must be absolute. */
export function parseWorkflow(path: string, bytes: Uint8Array, options: LoadOptions): LoadedWorkflow {
  const split = splitWorkflow(path, decodeWorkflow(path, bytes));
  const matter = parseFrontMatter(path, split.yaml ?? "", split.yamlLine);
  const resolved = resolveReferences(matter.values, options.env);
  const problems = new Problems(path, matter);
  const settings = buildSettings({
    path,
    revision: revisionOf(bytes),
    body: split.body,
    matter,
    resolved,
    problems,
    options,
  });
  const prompt = parseTemplate(split.body, { path, line: split.bodyLine });
  return { settings: deepFreeze(settings), prompt, warnings: problems.warnings };
}

function buildSettings(draft: Draft): Settings {
  const { matter, resolved, problems, options } = draft;
  const values = parseValues(
    draft,
    options.descriptors.map((known) => known.kind),
  );
  const kind = kindOf(resolved);
  const descriptor = kind === null ? null : findDescriptor(kind, options.descriptors, problems);
  warnAboutUnknownKeys(matter.values, descriptor, problems);
  refuseWorkers(matter.values["worker"], problems);
  if (values === null || descriptor === null) {
    problems.throwErrors();
    throw new Error("values that don't pass have problems");
  }
  return combine(draft, values, descriptor);
}

function combine(draft: Draft, values: WorkflowValues, descriptor: TrackerDescriptor): Settings {
  const { path, revision, body, matter, resolved, problems, options } = draft;
  const { env } = options;
  const paths: PathContext = { env, homeDir: options.homeDir ?? homeDirOf(env), baseDir: dirname(path) };
  const context = { descriptor, matter, env, baseDir: paths.baseDir, problems };
  const tracker = trackerSettings(values.tracker, context);
  const provided = attempt(() => parseProvider(values.tracker.provider, context));
  const { provider, secrets }: ProviderSettings = isAppError(provided) ? { provider: {}, secrets: [] } : provided;
  const base: SettingsBase = {
    workflowPath: path,
    revision,
    promptTemplate: body,
    tracker: { ...tracker, provider },
    secrets,
  };
  const settings = toSettings(values, base, { paths, from: resolved.from, problems });
  checkTogether(settings, problems);
  // An adapter's error keeps its own code when nothing else is wrong.
  if (isAppError(provided)) throw problems.withOther(provided);
  problems.throwErrors();
  return settings;
}

/** The kind as far as it is text; what else is wrong with it, the schema has said. */
function kindOf({ values }: Resolved): string | null {
  const tracker = values["tracker"];
  const kind: unknown = typeof tracker === "object" && tracker !== null && "kind" in tracker ? tracker.kind : null;
  return typeof kind === "string" ? kind : null;
}

function attempt<T>(work: () => T): T | AppError {
  try {
    return work();
  } catch (error) {
    if (isAppError(error)) return error;
    throw error;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}
