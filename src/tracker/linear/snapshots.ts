/** From records to normalized issues: completes relations, label names and the identity behind `me`, all at once for a whole answer. */
import type { Issue } from "../../domain/issue.ts";
import { normalizeState } from "../../domain/issue.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { LinearClient } from "./client.ts";
import { VIEWER_DOCUMENT } from "./documents.ts";
import { LabelNames } from "./labels.ts";
import { normalizeIssue } from "./normalize.ts";
import type { LinearProvider } from "./provider.ts";
import type { ReadIssue } from "./records.ts";
import { readViewerId } from "./records.ts";
import type { ReadOptions } from "./relations.ts";
import { completeRelations } from "./relations.ts";

/** A normalized issue, or a record that can't be one. */
export type Snapshot =
  | { readonly id: string; readonly issue: Issue }
  | { readonly id: string | null; readonly issue: null; readonly identifier: string | null; readonly problem: string };

export interface SnapshotDeps {
  readonly client: LinearClient;
  readonly clock: Clock;
  readonly provider: LinearProvider;
  readonly settings: Settings;
}

const ME = "me";

export class Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #labels: LabelNames;
  readonly #terminalStates: ReadonlySet<string>;
  #viewerId: string | null = null;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
    this.#labels = new LabelNames(deps.client, deps.clock);
    this.#terminalStates = new Set(deps.settings.tracker.terminalStates.map(normalizeState));
  }

  /** One snapshot per record, in order. Follow-up requests go out only for what is new or cut short. */
  async of(records: readonly ReadIssue[], options: ReadOptions): Promise<readonly Snapshot[]> {
    const nodes = records.flatMap((record) => (record.ok ? [record.node] : []));
    const relations = await completeRelations(this.#deps.client, nodes, options);
    await this.#labels.load(
      nodes.flatMap((node) => node.labelIds),
      options,
    );
    const context = {
      labelName: (id: string) => this.#labels.name(id),
      terminalStates: this.#terminalStates,
      assignee: await this.#userId(this.#deps.provider.assignee, options),
      delegate: await this.#userId(this.#deps.provider.delegate, options),
    };
    return records.map((record) => {
      if (!record.ok) return { id: record.id, issue: null, identifier: record.identifier, problem: record.problem };
      const { node } = record;
      return { id: node.id, issue: normalizeIssue(node, relations.get(node.id) ?? [], context) };
    });
  }

  /** `me` is whoever the credential belongs to; asked once. */
  async #userId(wanted: string | null, options: ReadOptions): Promise<string | null> {
    if (wanted === null || wanted.toLowerCase() !== ME) return wanted;
    this.#viewerId ??= readViewerId(
      await this.#deps.client.query({ document: VIEWER_DOCUMENT, variables: {}, ...options }),
    );
    return this.#viewerId;
  }
}
