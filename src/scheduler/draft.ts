/** A decision in the making: copies a map of the state only when it is first written, and notes what the ledger must write. */
import type { Claim, DurableChange, Pause, PauseKind, Fact, WorkspaceRecord } from "../domain/claim.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import type { Effect } from "./effects.ts";
import type { State } from "./state.ts";

/** What reduce answers. `change` is null when nothing durable changed. */
export interface Decision {
  readonly state: State;
  readonly change: DurableChange | null;
  readonly effects: readonly Effect[];
}

type Scalars = Omit<State, "claims" | "workspaces" | "pauses">;

/** A fresh candidate that is only being looked at again is nothing to remember. */
function isDurable(claim: Claim): boolean {
  return !(claim.kind === "waiting" && claim.why === "dispatch");
}

export class Draft {
  #state: State;
  #claims: Map<IssueId, Claim> | null = null;
  #workspaces: Map<IssueId, WorkspaceRecord> | null = null;
  #pauses: Map<PauseKind, Pause> | null = null;
  readonly #changedClaims = new Map<IssueId, Claim | null>();
  readonly #changedWorkspaces = new Map<IssueId, WorkspaceRecord | null>();
  readonly #changedPauses = new Map<PauseKind, Pause | null>();
  readonly #facts: Fact[] = [];
  readonly #effects: Effect[] = [];

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  patch(scalars: Partial<Scalars>): void {
    this.#state = { ...this.#state, ...scalars };
  }

  /** `memoryOnly`: a change that a restart may forget (activity, phase), so that the event path writes no row for it. */
  setClaim(id: IssueId, claim: Claim, options: { readonly memoryOnly?: boolean } = {}): void {
    const before = this.#state.claims.get(id);
    this.#ownClaims().set(id, claim);
    if (options.memoryOnly === true && !this.#changedClaims.has(id)) return;
    if (isDurable(claim)) this.#changedClaims.set(id, claim);
    else if (before !== undefined && isDurable(before)) this.#changedClaims.set(id, null);
  }

  dropClaim(id: IssueId): void {
    const before = this.#state.claims.get(id);
    if (before === undefined) return;
    this.#ownClaims().delete(id);
    if (isDurable(before) || this.#changedClaims.has(id)) this.#changedClaims.set(id, null);
  }

  setWorkspace(record: WorkspaceRecord): void {
    this.#ownWorkspaces().set(record.issueId, record);
    this.#changedWorkspaces.set(record.issueId, record);
  }

  dropWorkspace(id: IssueId): void {
    if (!this.#state.workspaces.has(id)) return;
    this.#ownWorkspaces().delete(id);
    this.#changedWorkspaces.set(id, null);
  }

  setPause(pause: Pause): void {
    this.#ownPauses().set(pause.kind, pause);
    this.#changedPauses.set(pause.kind, pause);
  }

  dropPause(kind: PauseKind): void {
    if (!this.#state.pauses.has(kind)) return;
    this.#ownPauses().delete(kind);
    this.#changedPauses.set(kind, null);
  }

  effect(effect: Effect): void {
    this.#effects.push(effect);
  }

  /** A number that no other poll, check or run of this daemon has. */
  nextNumber(): number {
    const generation = this.#state.generation + 1;
    this.patch({ generation });
    return generation;
  }

  fact(fact: Fact): void {
    this.#facts.push(fact);
  }

  /** One line per transition, with the issue's ids. */
  log(level: "info" | "warn", message: string, issue: Issue, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#effects.push({
      kind: "log",
      level,
      message,
      fields: { issue_id: issue.id, issue_identifier: issue.identifier, ...fields },
    });
  }

  finish(): Decision {
    const durable =
      this.#changedClaims.size + this.#changedWorkspaces.size + this.#changedPauses.size + this.#facts.length > 0;
    const change: DurableChange | null = durable
      ? {
          claims: this.#changedClaims,
          workspaces: this.#changedWorkspaces,
          pauses: this.#changedPauses,
          facts: this.#facts,
        }
      : null;
    return { state: this.#state, change, effects: this.#effects };
  }

  #ownClaims(): Map<IssueId, Claim> {
    if (this.#claims === null) {
      this.#claims = new Map(this.#state.claims);
      this.#state = { ...this.#state, claims: this.#claims };
    }
    return this.#claims;
  }

  #ownWorkspaces(): Map<IssueId, WorkspaceRecord> {
    if (this.#workspaces === null) {
      this.#workspaces = new Map(this.#state.workspaces);
      this.#state = { ...this.#state, workspaces: this.#workspaces };
    }
    return this.#workspaces;
  }

  #ownPauses(): Map<PauseKind, Pause> {
    if (this.#pauses === null) {
      this.#pauses = new Map(this.#state.pauses);
      this.#state = { ...this.#state, pauses: this.#pauses };
    }
    return this.#pauses;
  }
}
