/** Rules between keys, and between keys and the world, that no single value can break alone. */
import { statSync } from "node:fs";
import { dirname } from "node:path";

import { errorMessage } from "../../domain/errors.ts";
import { normalizeState } from "../../domain/issue.ts";
import type { Settings } from "../../domain/settings.ts";
import { checkCodex } from "./codex-rules.ts";
import { nearestName } from "../nearest-name.ts";
import { shown, type Problems } from "./problems.ts";

/** Appendix A of the specification. An empty list asks for nothing. */
export function refuseWorkers(worker: unknown, problems: Problems): void {
  if (typeof worker !== "object" || worker === null) return;
  const keys = worker as Readonly<Record<string, unknown>>;
  for (const name of ["ssh_hosts", "max_concurrent_agents_per_host"]) {
    const value = keys[name];
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue;
    const mend = "runs on other hosts are not supported yet; remove the key (agents run on this host)";
    problems.error(["worker", name], `${shown(value)}: ${mend}`);
  }
}

/** The caps whose state and number make sense, by normalized state. Others are ignored with a warning (section 5.3.5). */
export function stateCaps(
  entries: Readonly<Record<string, unknown>>,
  activeStates: readonly string[],
  problems: Problems,
): Record<string, number> {
  const caps = new Map<string, number>();
  const active = new Set(activeStates.map(normalizeState));
  for (const [name, value] of Object.entries(entries)) {
    const key = ["agent", "max_concurrent_agents_by_state", name];
    const state = normalizeState(name);
    const cap = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
    if (state === "") {
      problems.warn(key, "is ignored, because the state name is blank");
    } else if (typeof cap !== "number" || !Number.isSafeInteger(cap) || cap < 1) {
      problems.warn(key, `${shown(value)} is ignored, because it is not a whole number of agents, 1 or more`);
    } else {
      if (caps.has(state)) problems.warn(key, "replaces an earlier entry for the same state");
      if (!active.has(state)) warnAboutState(key, state, activeStates, problems);
      caps.set(state, cap);
    }
  }
  return Object.fromEntries(caps);
}

function warnAboutState(
  key: readonly string[],
  state: string,
  activeStates: readonly string[],
  problems: Problems,
): void {
  const near = nearestName(state, activeStates);
  const hint = near === null ? `active are ${activeStates.join(", ")}` : `did you mean ${near}?`;
  problems.warn(key, `limits a state that is not one of tracker.active_states; ${hint}`);
}

function checkBudget({ budget }: Settings, problems: Problems): void {
  const isPriced = Object.keys(budget.prices).length > 0;
  const caps = { usd_per_issue: budget.usdPerIssue, usd_per_day: budget.usdPerDay };
  for (const [key, value] of Object.entries(caps)) {
    if (value === null || isPriced) continue;
    problems.warn(["budget", key], "has no effect without budget.prices; give the model's prices per million tokens");
  }
}

/** Anything else that is wrong with the folder is found when it is made or used; this much is plain from here. */
function checkRoot({ workspace }: Settings, problems: Problems): void {
  const key = ["workspace", "root"];
  try {
    const blocker = fileOnTheWay(workspace.root);
    if (blocker === null) return;
    const what = blocker === workspace.root ? "is a file" : `can't be a folder, because ${blocker} is a file`;
    problems.error(key, `${shown(workspace.root)} ${what}; name a folder, or a path where one can be made`);
  } catch (error) {
    problems.error(key, `${shown(workspace.root)} can't be used: ${errorMessage(error)}; name another folder`);
  }
}

/** The part of the path that exists and is no folder, or null. */
function fileOnTheWay(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined) return stats.isDirectory() ? null : path;
  const parent = dirname(path);
  return parent === path ? null : fileOnTheWay(parent);
}

function checkUrls({ notify }: Settings, problems: Problems): void {
  notify.webhooks.forEach((text, index) => {
    const protocol = URL.parse(text)?.protocol;
    if (protocol === "https:" || protocol === "http:") return;
    problems.error(
      ["notify", "webhooks", index],
      "the value is not an http or https address; write it such as https://hooks.example.com/symphony",
    );
  });
}

/** Collects every problem that only the whole shows. */
export function checkTogether(settings: Settings, problems: Problems): void {
  checkRoot(settings, problems);
  checkCodex(settings, problems);
  checkBudget(settings, problems);
  checkUrls(settings, problems);
}
