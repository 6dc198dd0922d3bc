/** What must hold whenever a run starts: one run for a ticket, one agent in a workspace, the caps, the gates, the day's budget. */
import { normalizeState } from "../../src/domain/issue.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { startGate } from "../../src/scheduler/eligibility.ts";
import type { State } from "../../src/scheduler/state.ts";
import { Breach } from "./breach.ts";
import type { ModelAgent } from "./model-agent.ts";

export interface Start {
  /** The agent that is about to begin. */
  readonly agent: ModelAgent;
  /** Those that are at work. */
  readonly others: readonly ModelAgent[];
  /** As it is with this run in it. */
  readonly state: State;
  readonly settings: Settings;
  readonly now: number;
}

/** Throws a {@link Breach} for a start that may not be. */
export function checkStart(start: Start): void {
  const { agent, others, state, settings, now } = start;
  const { issue } = agent.start;
  const spentUntil = state.pauses.get("budget")?.until ?? null;
  if (spentUntil !== null && spentUntil > now) {
    throw new Breach(`${issue.identifier} started though the day's budget is spent`);
  }
  if (state.mode !== "running") throw new Breach(`${issue.identifier} started while draining`);
  if (others.some((other) => other.start.issue.id === issue.id)) throw new Breach(`two runs of ${issue.identifier}`);
  if (others.some((other) => other.path === agent.path)) throw new Breach(`two agents in ${agent.path}`);
  if (startGate(issue, settings) !== null) throw new Breach(`${issue.identifier} started though it may not`);
  checkCaps(start);
}

function checkCaps({ agent, others, state, settings }: Start): void {
  const { maxConcurrentAgents, maxConcurrentAgentsByState } = settings.agent;
  const runs = others.length + 1;
  if (runs > maxConcurrentAgents) throw new Breach(`${runs} runs, cap ${maxConcurrentAgents}`);
  const stateName = normalizeState(agent.start.issue.state);
  const cap = maxConcurrentAgentsByState[stateName];
  const sameState = [...state.claims.values()].filter(
    (claim) => claim.kind === "running" && normalizeState(claim.issue.state) === stateName,
  );
  if (cap !== undefined && sameState.length > cap) {
    throw new Breach(`${sameState.length} runs in ${stateName}, cap ${cap}`);
  }
}
