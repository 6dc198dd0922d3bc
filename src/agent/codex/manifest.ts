/** Every method, field and value of the app-server's protocol that we send or read, as 0.171.0 has them. */

/** A JSON type, or the values of an enumeration: of one that we read all of them, of one that we send ours. */
export type Shape = "string" | "number" | "boolean" | "object" | "array" | "any" | readonly string[];

/** Paths as {@link ./schema-tree.ts} reads them. */
export interface MessageUse {
  readonly params?: Readonly<Record<string, Shape>>;
  readonly result?: Readonly<Record<string, Shape>>;
}

export interface ProtocolManifest {
  /** The version that it was taken from. */
  readonly version: string;
  readonly clientRequests: Readonly<Record<string, MessageUse>>;
  readonly clientNotifications: Readonly<Record<string, MessageUse>>;
  readonly serverRequests: Readonly<Record<string, MessageUse>>;
  readonly serverNotifications: Readonly<Record<string, MessageUse>>;
  /** Requests of the app-server that we know and refuse: their clients are of another kind. */
  readonly refusedRequests: readonly string[];
  /** Notifications that we opt out of, by exact name (wildcards are ignored, unknown names accepted). */
  readonly unused: readonly string[];
}

const APPROVAL_POLICIES = ["never", "on-request", "untrusted"] as const;

/** What thread/start and thread/resume have in common. */
const THREAD_PARAMS = {
  approvalPolicy: APPROVAL_POLICIES,
  approvalsReviewer: ["user", "auto_review", "guardian_subagent"],
  config: "object",
  cwd: "string",
  sandbox: ["read-only", "workspace-write", "danger-full-access"],
} as const;

const THREAD_RESULT = {
  "thread.id": "string",
  model: "string",
  modelProvider: "string",
  reasoningEffort: "string",
} as const;

const SANDBOX_POLICY = {
  sandboxPolicy: "object",
  "sandboxPolicy.excludeSlashTmp": "boolean",
  "sandboxPolicy.excludeTmpdirEnvVar": "boolean",
  "sandboxPolicy.networkAccess": "boolean",
  "sandboxPolicy.type": ["readOnly", "workspaceWrite", "dangerFullAccess", "externalSandbox"],
  "sandboxPolicy.writableRoots": "array",
  "sandboxPolicy.writableRoots[]": "string",
} as const;

const TURN_STATUS = ["completed", "interrupted", "failed", "inProgress"] as const;

const ERROR_INFO = [
  "badRequest",
  "bioPolicy",
  "contextWindowExceeded",
  "cyberPolicy",
  "flexUnavailable",
  "inferenceHookDenied",
  "internalServerError",
  "misalignmentPolicyViolation",
  "modelNotFound",
  "other",
  "policyCapacityUnavailable",
  "rateLimitExceeded",
  "sandboxError",
  "serverOverloaded",
  "sessionBudgetExceeded",
  "threadRollbackFailed",
  "tooManyDenials",
  "unauthorized",
  "usageLimitExceeded",
] as const;

/** How a turn stands, wherever a turn is told. */
function turnAt(at: string, info: Shape): Readonly<Record<string, Shape>> {
  return { [`${at}.id`]: "string", [`${at}.status`]: TURN_STATUS, ...errorAt(`${at}.error`, info) };
}

/** The values of `codexErrorInfo` are compared in one place. */
function errorAt(at: string, info: Shape): Readonly<Record<string, Shape>> {
  return {
    [`${at}.additionalDetails`]: "string",
    [`${at}.codexErrorInfo`]: info,
    [`${at}.codexErrorInfo.*.httpStatusCode`]: "number",
    [`${at}.message`]: "string",
  };
}

const ITEM = {
  "item.id": "string",
  "item.type": [
    "agentMessage",
    "collabAgentToolCall",
    "commandExecution",
    "contextCompaction",
    "dynamicToolCall",
    "enteredReviewMode",
    "exitedReviewMode",
    "fileChange",
    "functionCallOutput",
    "hookPrompt",
    "imageGeneration",
    "imageView",
    "mcpToolCall",
    "plan",
    "reasoning",
    "sleep",
    "subAgentActivity",
    "userMessage",
    "webSearch",
  ],
  "item.aggregatedOutput": "string",
  "item.changes": "array",
  "item.changes[].diff": "string",
  "item.changes[].kind.move_path": "string",
  "item.changes[].kind.type": ["add", "delete", "update"],
  "item.changes[].path": "string",
  "item.command": "string",
  "item.durationMs": "number",
  "item.error": "object",
  "item.exitCode": "number",
  "item.result": "object",
  "item.server": "string",
  // Of commands, changes and tool calls.
  "item.status": ["completed", "declined", "failed", "inProgress", "interrupted"],
  "item.summary": "array",
  "item.summary[]": "string",
  "item.text": "string",
  "item.tool": "string",
  threadId: "string",
  turnId: "string",
} as const;

/** Where an approval belongs, and how it is answered. */
const APPROVAL_PARAMS = { itemId: "string", reason: "string", threadId: "string" } as const;
const DECISION = { decision: ["accept", "decline"] } as const;

const DELTA = { params: { threadId: "string", turnId: "string" } } as const;

export const MANIFEST = {
  version: "0.171.0",
  clientRequests: {
    initialize: {
      params: {
        "capabilities.experimentalApi": "boolean",
        "capabilities.optOutNotificationMethods": "array",
        "clientInfo.name": "string",
        "clientInfo.title": "string",
        "clientInfo.version": "string",
      },
      result: { codexHome: "string", userAgent: "string" },
    },
    "account/read": {
      params: { refreshToken: "boolean" },
      result: { account: "object", requiresOpenaiAuth: "boolean" },
    },
    "config/read": {
      params: { cwd: "string" },
      result: { "config.model_provider": "string" },
    },
    "command/exec": {
      params: { command: "array", "command[]": "string", cwd: "string", timeoutMs: "number", ...SANDBOX_POLICY },
      result: { exitCode: "number", stderr: "string" },
    },
    "thread/start": {
      params: {
        ...THREAD_PARAMS,
        developerInstructions: "string",
        dynamicTools: "array",
        "dynamicTools[].description": "string",
        "dynamicTools[].inputSchema": "any",
        "dynamicTools[].name": "string",
        "dynamicTools[].type": ["function"],
        serviceName: "string",
      },
      result: THREAD_RESULT,
    },
    "thread/resume": {
      params: { ...THREAD_PARAMS, excludeTurns: "boolean", threadId: "string" },
      result: THREAD_RESULT,
    },
    "turn/start": {
      params: {
        approvalPolicy: APPROVAL_POLICIES,
        clientUserMessageId: "string",
        cwd: "string",
        effort: "string",
        input: "array",
        "input[].path": "string",
        "input[].text": "string",
        "input[].text_elements": "array",
        "input[].type": ["text", "localImage"],
        model: "string",
        threadId: "string",
        ...SANDBOX_POLICY,
      },
      result: { "turn.id": "string" },
    },
    "turn/steer": {
      params: {
        expectedTurnId: "string",
        input: "array",
        "input[].text": "string",
        "input[].text_elements": "array",
        "input[].type": ["text"],
        threadId: "string",
      },
    },
    "turn/interrupt": { params: { threadId: "string", turnId: "string" } },
    "thread/compact/start": { params: { threadId: "string" } },
    "thread/backgroundTerminals/clean": { params: { threadId: "string" } },
    "thread/archive": { params: { threadId: "string" } },
    "thread/unarchive": { params: { threadId: "string" } },
    "thread/read": {
      params: { includeTurns: "boolean", threadId: "string" },
      result: {
        "thread.parentThreadId": "string",
        "thread.status.type": ["active", "idle", "notLoaded", "systemError"],
      },
    },
    "thread/turns/list": {
      params: {
        itemsView: ["notLoaded"],
        limit: "number",
        sortDirection: ["desc"],
        threadId: "string",
      },
      result: { data: "array", ...turnAt("data[]", "any") },
    },
  },
  clientNotifications: { initialized: {} },
  serverRequests: {
    "item/tool/call": {
      params: { arguments: "any", callId: "string", threadId: "string", tool: "string" },
      result: {
        contentItems: "array",
        "contentItems[].text": "string",
        "contentItems[].type": ["inputText"],
        success: "boolean",
      },
    },
    "item/commandExecution/requestApproval": {
      params: { ...APPROVAL_PARAMS, command: "string", "networkApprovalContext.host": "string" },
      result: DECISION,
    },
    "item/fileChange/requestApproval": { params: { ...APPROVAL_PARAMS, grantRoot: "string" }, result: DECISION },
    "item/permissions/requestApproval": {
      params: { ...APPROVAL_PARAMS, permissions: "object" },
      result: { permissions: "object", scope: ["turn"] },
    },
    "item/tool/requestUserInput": {
      params: {
        threadId: "string",
        "questions[].header": "string",
        "questions[].id": "string",
        "questions[].isSecret": "boolean",
        "questions[].options[].label": "string",
        "questions[].question": "string",
      },
      result: { answers: "object", "answers.*.answers": "array", "answers.*.answers[]": "string" },
    },
    "mcpServer/elicitation/request": {
      params: {
        _meta: "any",
        message: "string",
        requestedSchema: "object",
        "requestedSchema.properties": "object",
        "requestedSchema.required": "array",
        serverName: "string",
        threadId: "string",
      },
      result: { _meta: "any", action: ["accept", "decline"], content: "any" },
    },
    // For old servers; to a new one "denied" is an object with a reason, and it takes the bare word as a refusal too.
    execCommandApproval: {
      params: { command: "array", conversationId: "string" },
      result: { decision: ["approved"] },
    },
    applyPatchApproval: {
      params: { conversationId: "string", fileChanges: "object" },
      result: { decision: ["approved"] },
    },
  },
  refusedRequests: ["account/chatgptAuthTokens/refresh", "attestation/generate"],
  serverNotifications: {
    "account/rateLimits/updated": {
      params: {
        rateLimits: "object",
        "rateLimits.limitId": "string",
        "rateLimits.primary.resetsAt": "number",
        "rateLimits.primary.usedPercent": "number",
        "rateLimits.secondary.resetsAt": "number",
        "rateLimits.secondary.usedPercent": "number",
      },
    },
    configWarning: { params: { details: "string", summary: "string" } },
    deprecationNotice: { params: { details: "string", summary: "string" } },
    error: { params: { ...errorAt("error", "any"), threadId: "string", turnId: "string", willRetry: "boolean" } },
    guardianWarning: { params: { message: "string" } },
    "item/completed": { params: ITEM },
    "item/started": { params: { ...ITEM, "item.type": "string" } },
    "mcpServer/startupStatus/updated": {
      params: { error: "string", name: "string", status: ["cancelled", "failed", "ready", "starting"] },
    },
    "model/rerouted": { params: { fromModel: "string", threadId: "string", toModel: "string" } },
    "serverRequest/resolved": { params: { requestId: "any" } },
    "thread/tokenUsage/updated": {
      params: {
        threadId: "string",
        "tokenUsage.total.cachedInputTokens": "number",
        "tokenUsage.total.inputTokens": "number",
        "tokenUsage.total.outputTokens": "number",
        "tokenUsage.total.reasoningOutputTokens": "number",
        "tokenUsage.total.totalTokens": "number",
      },
    },
    "turn/completed": { params: { threadId: "string", ...turnAt("turn", ERROR_INFO) } },
    "turn/plan/updated": {
      params: {
        explanation: "string",
        plan: "array",
        "plan[].status": ["completed", "inProgress", "pending"],
        "plan[].step": "string",
        threadId: "string",
        turnId: "string",
      },
    },
    "turn/started": { params: { threadId: "string", "turn.id": "string" } },
    warning: { params: { message: "string" } },
    // Telemetry alone.
    "hook/completed": {},
    "hook/started": {},
    "item/autoApprovalReview/completed": {},
    "item/autoApprovalReview/started": {},
    // Nothing is read of them, but they are the only sign of life of a long answer or command.
    "item/agentMessage/delta": DELTA,
    "item/commandExecution/outputDelta": DELTA,
    "item/reasoning/summaryTextDelta": DELTA,
    "thread/status/changed": { params: { threadId: "string" } },
  },
  unused: [
    "account/updated",
    "app/list/updated",
    "fs/changed",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryPartAdded",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/goal/cleared",
    "thread/goal/updated",
    "thread/name/updated",
    "thread/prediction/updated",
    "thread/queue/changed",
    "thread/readState/changed",
    "turn/diff/updated",
  ],
} as const satisfies ProtocolManifest;

/** A request that we send; the channel takes no other. */
export type RequestMethod = keyof (typeof MANIFEST)["clientRequests"];
