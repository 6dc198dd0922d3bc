/** The kinds of misbehaviour that a simulated day may hold; each can be switched off, which is how a failing day is made small. */

export interface Faults {
  readonly crashes: boolean;
  readonly restarts: boolean;
  readonly trackerErrors: boolean;
  readonly throttling: boolean;
  readonly slowTracker: boolean;
  readonly deletions: boolean;
  readonly people: boolean;
  readonly hookFailures: boolean;
  readonly agentFailures: boolean;
  readonly limits: boolean;
  readonly stalls: boolean;
  readonly stubbornStops: boolean;
  readonly lateEvents: boolean;
  readonly reloads: boolean;
  readonly ledgerFailures: boolean;
  readonly operators: boolean;
  readonly budgets: boolean;
  readonly questions: boolean;
  readonly standstills: boolean;
}

export const ALL_FAULTS: Faults = {
  crashes: true,
  restarts: true,
  trackerErrors: true,
  throttling: true,
  slowTracker: true,
  deletions: true,
  people: true,
  hookFailures: true,
  agentFailures: true,
  limits: true,
  stalls: true,
  stubbornStops: true,
  lateEvents: true,
  reloads: true,
  ledgerFailures: true,
  operators: true,
  budgets: true,
  questions: true,
  standstills: true,
};

export const FAULT_NAMES = Object.keys(ALL_FAULTS) as readonly (keyof Faults)[];

/** Only the named kinds. */
export function onlyFaults(names: readonly (keyof Faults)[]): Faults {
  const faults = { ...ALL_FAULTS };
  for (const name of FAULT_NAMES) faults[name] = names.includes(name);
  return faults;
}
