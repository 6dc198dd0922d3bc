/** How the commands of a thread in a shared process carry the run's marker: that process's own environment can't name one run. */
import { MARKER_VARIABLE } from "../../host/login-shell.ts";
import { arrayAt, asObject, objectAt, stringAt, type JsonObject } from "./reading.ts";

const SET = "shell_environment_policy.set.";
const INCLUDE_ONLY = "shell_environment_policy.include_only";

/** Params of thread/start or thread/resume with the marker for the thread's commands, and its sub-agents' (measured). */
export function withMarker(params: unknown, runMarker: string, includeOnly: readonly string[]): JsonObject {
  const config = { ...objectAt(params, "config"), [SET + MARKER_VARIABLE]: runMarker };
  // The list is applied after `set`: what it doesn't name would be dropped again (measured).
  const set = Object.keys(config).filter((key) => key.startsWith(SET));
  const names = [...includeOnly, ...set.map((key) => key.slice(SET.length))];
  const wider = includeOnly.length === 0 ? {} : { [INCLUDE_ONLY]: names };
  return { ...asObject(params), config: { ...config, ...wider } };
}

/** The user's own list in a reply to config/read, empty where there is none. */
export function includeOnlyOf(reply: unknown): readonly string[] {
  const policy = objectAt(objectAt(reply, "config"), "shell_environment_policy");
  return arrayAt(policy, "include_only").filter((name) => typeof name === "string");
}

/** What config/read is asked with for such params. */
export function configQuestion(params: unknown): JsonObject {
  return { cwd: stringAt(params, "cwd") };
}
