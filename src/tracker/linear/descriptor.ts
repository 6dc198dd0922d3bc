/** The Linear adapter's keys under `tracker.provider`: what they may be and what they fall back to. */
import type { ProviderInput, TrackerDescriptor } from "../../workflow/tracker-descriptor.ts";
import { parseCredential } from "./credential-keys.ts";
import { addressOf, optionalText, refuse } from "./keys.ts";
import type { LinearCredential, LinearProvider, LinearScope, ToolMode } from "./provider.ts";

const DEFAULT_ENDPOINT = "https://api.linear.app/graphql";
const ASSIGNEE_VARIABLE = "LINEAR_ASSIGNEE";
const TOOL_MODES: readonly ToolMode[] = ["scoped", "open", "read"];

function parseLabels(input: ProviderInput): string[] {
  const value = input.raw["labels"] ?? [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((label) => {
    if (typeof label === "string" && label.trim() !== "") return label.trim();
    throw refuse("labels", value, "is not a list of label names; write it such as [agent]");
  });
}

/** A project's address may be pasted whole; its last part after /project/ is the slug. */
function slugOf(text: string): string {
  return /^https?:\/\/[^/]+\/[^/]+\/project\/([^/?#]+)/.exec(text)?.[1] ?? text;
}

function parseScope(input: ProviderInput): LinearScope {
  const slug = optionalText(input, "project_slug");
  const scope: LinearScope = {
    projectSlug: slug === null ? null : slugOf(slug),
    team: optionalText(input, "team")?.toUpperCase() ?? null,
    labels: parseLabels(input),
    view: optionalText(input, "view"),
  };
  if (scope.projectSlug === null && scope.team === null && scope.labels.length === 0 && scope.view === null) {
    const mend = "copy the last part of the project's address, or give team, labels or view";
    throw refuse("project_slug", input.raw["project_slug"], `is missing; ${mend}`);
  }
  return scope;
}

function parseToolMode(input: ProviderInput): ToolMode {
  const tool = input.raw["tool"] ?? {};
  if (typeof tool !== "object" || tool === null || Array.isArray(tool)) {
    throw refuse("tool", tool, "is no map; write it such as {mode: scoped}");
  }
  const keys = new Map(Object.entries(tool));
  const unknown = [...keys.keys()].find((key) => key !== "mode");
  if (unknown !== undefined) throw refuse(`tool.${unknown}`, keys.get(unknown), "is not a key; the only one is mode");
  const value = input.resolve(keys.get("mode") ?? "scoped");
  const mode = TOOL_MODES.find((name) => name === value);
  if (mode === undefined) throw refuse("tool.mode", value, `is not a mode; use ${TOOL_MODES.join(", ")}`);
  return mode;
}

/** A personal key belongs to a person, and only applications have agent sessions. */
const PERSONAL_PREFIX = "lin_api_";

function parseAgentSessions(input: ProviderInput, credential: LinearCredential): boolean {
  const value = input.raw["agent_sessions"] ?? false;
  if (typeof value !== "boolean") throw refuse("agent_sessions", value, "is neither true nor false");
  if (value && credential.kind === "token" && credential.token.startsWith(PERSONAL_PREFIX)) {
    throw refuse("agent_sessions", value, "needs an application's credential, and api_key is a person's; use oauth");
  }
  return value;
}

/** Issues of a Linear workspace. */
export const linearDescriptor: TrackerDescriptor = {
  kind: "linear",
  activeStates: ["Todo", "In Progress"],
  terminalStates: ["Done", "Closed", "Cancelled", "Canceled", "Duplicate"],
  providerKeys: [
    "endpoint",
    "api_key",
    "api_key_file",
    "oauth",
    "project_slug",
    "team",
    "labels",
    "view",
    "assignee",
    "delegate",
    "tool",
    "agent_sessions",
  ],
  flatKeys: ["endpoint", "api_key", "project_slug", "assignee"],
  parseProvider(input) {
    const endpoint = addressOf(input, "endpoint", DEFAULT_ENDPOINT);
    const { credential, secrets } = parseCredential(input);
    const provider: LinearProvider = {
      endpoint,
      credential,
      scope: parseScope(input),
      assignee: optionalText(input, "assignee") ?? ((input.env[ASSIGNEE_VARIABLE] ?? "").trim() || null),
      delegate: optionalText(input, "delegate"),
      toolMode: parseToolMode(input),
      agentSessions: parseAgentSessions(input, credential),
    };
    return { provider: { ...provider }, secrets };
  },
};
