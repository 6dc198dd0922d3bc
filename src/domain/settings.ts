/** The typed, frozen settings of one WORKFLOW.md revision. Parsed once at the edge (workflow/), passed as an argument, never imported as a value. */

export type ApprovalPolicy = "accept" | "decline" | "ask";

export interface TrackerSettings {
  readonly kind: string;
  /** The adapter's own keys after `$VAR` resolution; only the adapter reads them. May hold a secret: never logged. */
  readonly provider: Readonly<Record<string, unknown>>;
  /** Normalized. A blank entry stays as "" and matches no issue. */
  readonly requiredLabels: readonly string[];
  readonly excludedLabels: readonly string[];
  /** As spelled in the file, for queries; compare normalized. */
  readonly activeStates: readonly string[];
  readonly terminalStates: readonly string[];
}

export interface HookSettings {
  readonly afterCreate: string | null;
  readonly beforeRun: string | null;
  readonly afterRun: string | null;
  readonly beforeRemove: string | null;
  readonly timeoutMs: number;
}

export interface AgentSettings {
  readonly backend: "codex";
  readonly maxConcurrentAgents: number;
  readonly maxTurns: number;
  readonly maxRetryBackoffMs: number;
  /** Keys are normalized state names. */
  readonly maxConcurrentAgentsByState: Readonly<Record<string, number>>;
  readonly resume: boolean;
  readonly finishGraceMs: number;
  readonly maxIdleRuns: number;
}

export interface CodexSettings {
  /** A shell string, run by `bash -lc` in the workspace; never rewritten. */
  readonly command: string;
  /** Passed through unchanged when set; null = our documented default. */
  readonly approvalPolicy: unknown;
  readonly threadSandbox: string | null;
  readonly turnSandboxPolicy: unknown;
  readonly turnTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly startTimeoutMs: number;
  /** <= 0 turns stall detection off. */
  readonly stallTimeoutMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly envInherit: "core" | "all";
  readonly gitWrites: boolean;
  readonly trustProject: boolean;
  readonly dynamicTools: boolean;
  readonly approvalsReviewer: string | null;
  readonly process: "per_run" | "shared";
  readonly images: { readonly maxCount: number; readonly maxBytes: number };
}

export interface ApprovalSettings {
  readonly commands: ApprovalPolicy;
  readonly fileChanges: ApprovalPolicy;
  readonly permissions: ApprovalPolicy;
  readonly elicitations: ApprovalPolicy;
  readonly questions: ApprovalPolicy;
  readonly timeoutMs: number;
}

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

export interface BudgetSettings {
  readonly tokensPerRun: number | null;
  readonly tokensPerIssue: number | null;
  readonly tokensPerDay: number | null;
  readonly usdPerIssue: number | null;
  readonly usdPerDay: number | null;
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

export interface Settings {
  /** Absolute path of the file that these settings came from. */
  readonly workflowPath: string;
  /** SHA-256 of the file's bytes, first 12 hex digits: what status calls the applied revision. */
  readonly revision: string;
  /** The trimmed prompt body; "" = the built-in prompt. */
  readonly promptTemplate: string;
  readonly tracker: TrackerSettings;
  readonly polling: { readonly intervalMs: number };
  readonly workspace: { readonly root: string; readonly onTerminal: "remove" | "keep" };
  readonly hooks: HookSettings;
  readonly agent: AgentSettings;
  readonly codex: CodexSettings;
  readonly approvals: ApprovalSettings;
  readonly budget: BudgetSettings;
  readonly state: { readonly dir: string | null };
  readonly server: {
    readonly port: number | null;
    readonly host: string | null;
    readonly tokenFile: string | null;
    readonly openRefresh: boolean;
    /** Whether `/api/v1/metrics` answers. */
    readonly metrics: boolean;
    readonly webhooks: { readonly linear: { readonly secret: string | null } };
  };
  readonly shutdown: { readonly drainMs: number };
  readonly notify: {
    readonly webhooks: readonly string[];
    /** Signs what is sent; null = unsigned. */
    readonly secret: string | null;
  };
  readonly log: { readonly file: string | null; readonly maxBytes: number | null; readonly keep: number | null };
  /** Values that must never be logged, stored or handed to a child, with the environment names they may arrive by. */
  readonly secrets: readonly Secret[];
}

/** A secret value and the environment variable names that carry it. */
export interface Secret {
  readonly envNames: readonly string[];
  readonly value: string;
}
