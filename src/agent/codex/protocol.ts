/** The part of the app-server protocol that we send: hand-kept, checked against the schema of 0.171.0. */
import type { JsonValue } from "../../domain/issue.ts";
import type { JsonObject } from "./reading.ts";

export interface InitializeParams {
  readonly clientInfo: { readonly name: string; readonly title: string; readonly version: string };
  readonly capabilities: { readonly experimentalApi: boolean; readonly optOutNotificationMethods: readonly string[] };
}

/** `sandboxPolicy` of turn/start: camel-case types. What a workflow sets itself is passed through unchanged. */
export type SandboxPolicy =
  | {
      readonly type: "workspaceWrite";
      readonly writableRoots: readonly string[];
      readonly networkAccess: boolean;
      readonly excludeTmpdirEnvVar: boolean;
      readonly excludeSlashTmp: boolean;
    }
  | { readonly type: "readOnly" }
  | { readonly type: "dangerFullAccess" };

export interface DynamicToolSpec {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: JsonValue };
}

/** What start and resume have in common. */
export interface ThreadParams {
  readonly cwd: string;
  readonly approvalPolicy: unknown;
  /** Kebab names: `read-only`, `workspace-write`, `danger-full-access`. */
  readonly sandbox: string;
  readonly config: JsonObject;
  readonly approvalsReviewer?: string;
}

export interface ThreadStartParams extends ThreadParams {
  readonly serviceName: string;
  readonly developerInstructions?: string;
  readonly dynamicTools?: readonly DynamicToolSpec[];
}

export interface ThreadResumeParams extends ThreadParams {
  readonly threadId: string;
  /** The whole history would come back in one line otherwise. */
  readonly excludeTurns: true;
}

export type UserInput =
  | { readonly type: "text"; readonly text: string; readonly text_elements: readonly [] }
  | { readonly type: "localImage"; readonly path: string };

export interface TurnStartParams {
  readonly threadId: string;
  readonly input: readonly UserInput[];
  readonly cwd: string;
  readonly approvalPolicy: unknown;
  readonly sandboxPolicy: unknown;
  readonly clientUserMessageId: string;
  readonly model?: string;
  readonly effort?: string;
}

export interface TurnSteerParams {
  readonly threadId: string;
  readonly expectedTurnId: string;
  readonly input: readonly UserInput[];
}

/** The answer to `item/tool/call`. */
export interface DynamicToolReply {
  readonly contentItems: readonly { readonly type: "inputText"; readonly text: string }[];
  readonly success: boolean;
}
