/** Answers what the agent asks of us: tool calls, approvals, questions, and an error at once for anything else. */
import type { AgentEventBody } from "../../domain/events.ts";
import type { QuestionAnswer } from "../../domain/inbox.ts";
import type { Question } from "../../domain/outcome.ts";
import type { ApprovalPolicy, ApprovalSettings } from "../../domain/settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { errorMessage } from "../../domain/errors.ts";
import type { Grant, SessionRequest } from "../port.ts";
import { readApproval, type Approval } from "./approvals.ts";
import type { ItemView } from "./notices.ts";
import type { DynamicToolReply } from "./protocol.ts";
import type { Questions } from "./questions.ts";
import { arrayAt, asObject, bounded, stringAt } from "./reading.ts";
import { unknownMethod, type RequestId } from "./wire.ts";

const DETAIL_CHARS = 8000;
const SUBJECT_CHARS = 200;

export interface RequestsDeps {
  readonly session: Pick<SessionRequest, "settings" | "tools" | "callTool" | "runMarker" | "grants">;
  readonly clock: Clock;
  readonly log: Log;
  readonly questions: Questions;
  emit(event: AgentEventBody): void;
  /** Something that may be silent began or ended. */
  opened(threadId: string, key: string): void;
  closed(threadId: string, key: string): void;
  /** Whether a turn of the session runs: only then is there somebody to wait for. */
  isTurnRunning(): boolean;
}

export class Requests {
  readonly #deps: RequestsDeps;
  readonly #grants: Grant[];
  /** The paths of file changes that have begun, by item id; their approvals name only the item. */
  readonly #changes = new Map<string, readonly string[]>();
  #asked = 0;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
    this.#grants = [...(deps.session.grants ?? [])];
  }

  /** The channel's onRequest: a value, a promise of one, or an RpcError. */
  handle(method: string, params: unknown, id: RequestId): unknown {
    if (method === "item/tool/call") return this.#callTool(params);
    const approval = readApproval(method, params, { changedPaths: (itemId) => this.#changes.get(itemId) ?? [] });
    if (approval !== null) return this.#decide({ method, params, id, approval });
    this.#deps.emit({ kind: "other_message", method });
    this.#deps.log.warn(
      { method, thread_id: stringAt(params, "threadId") },
      "the agent sent a request that is not supported; it was refused",
    );
    throw unknownMethod(method);
  }

  itemStarted({ id, type, fields }: ItemView): void {
    if (type !== "fileChange") return;
    const paths = arrayAt(fields, "changes").map((change) => stringAt(change, "path") ?? "");
    this.#changes.set(
      id,
      paths.filter((path) => path !== ""),
    );
  }

  itemEnded({ id }: ItemView): void {
    this.#changes.delete(id);
  }

  async #callTool(params: unknown): Promise<DynamicToolReply> {
    const { session, clock, emit } = this.#deps;
    const tool = stringAt(params, "tool") ?? "";
    const callId = stringAt(params, "callId") ?? "";
    const threadId = stringAt(params, "threadId") ?? "";
    if (!session.tools.some(({ name }) => name === tool)) {
      emit({ kind: "unsupported_tool_call", tool: bounded(tool, SUBJECT_CHARS) });
      return toolReply(false, `no tool named ${tool}; there are: ${session.tools.map(({ name }) => name).join(", ")}`);
    }
    const startedAt = clock.now();
    this.#deps.opened(threadId, callId);
    try {
      const { success, text } = await session.callTool(tool, callId, asObject(params)?.["arguments"]);
      const durationMs = clock.now() - startedAt;
      emit({ kind: "tool_call", tool, callId, ok: success, durationMs, bytes: Buffer.byteLength(text) });
      return toolReply(success, text);
    } catch (error) {
      // The port forbids it; the agent must get its answer all the same.
      this.#deps.log.error({ thread_id: threadId, err: error, tool }, "a tool call threw");
      return toolReply(false, `the tool failed: ${errorMessage(error)}`);
    } finally {
      this.#deps.closed(threadId, callId);
    }
  }

  #decide(asked: Asked): unknown {
    const { approval, method, id } = asked;
    const grant = this.#takeGrant(approval);
    if (grant !== null) {
      this.#deps.questions.sent(id, grant.id);
      return this.#reply(method, approval, grant.answer, "person");
    }
    switch (policyFor(approval.kind, this.#deps.session.settings.approvals)) {
      case "accept":
        return this.#reply(method, approval, { accept: true, text: null });
      case "ask":
        return this.#deps.isTurnRunning() ? this.#ask(asked) : this.#reply(method, approval, null);
      default:
        return this.#reply(method, approval, null);
    }
  }

  /** A grant without a subject names nothing that a request could be compared with. */
  #takeGrant({ kind, subject }: Approval): Grant | null {
    if (subject === null) return null;
    const at = this.#grants.findIndex((grant) => grant.kind === kind && grant.subject === subject);
    return at === -1 ? null : (this.#grants.splice(at, 1)[0] ?? null);
  }

  async #ask({ approval, method, params, id }: Asked): Promise<unknown> {
    const { questions, session, clock, emit } = this.#deps;
    this.#asked += 1;
    const askedAt = clock.now();
    const question: Question = {
      id: `${session.runMarker}.q${this.#asked}`,
      kind: approval.kind,
      summary: approval.summary,
      subject: approval.subject,
      detail: bounded(JSON.stringify(params) ?? "", DETAIL_CHARS),
      askedAt,
      deadlineAt: askedAt + session.settings.approvals.timeoutMs,
    };
    const threadId = stringAt(params, "threadId") ?? "";
    this.#deps.opened(threadId, question.id);
    emit({ kind: "turn_input_required", method });
    const answer = await questions.ask(question, id);
    this.#deps.closed(threadId, question.id);
    return this.#reply(method, approval, answer, "person");
  }

  /** What a person approved is no automatic approval: it is only noted. */
  #reply(
    method: string,
    approval: Approval,
    answer: QuestionAnswer | null,
    by: "policy" | "person" = "policy",
  ): unknown {
    const accepted = answer?.accept === true ? approval.accept(answer.text) : null;
    const subject = approval.subject === null ? null : bounded(approval.subject, SUBJECT_CHARS);
    if (accepted === null) this.#deps.emit({ kind: "approval_declined", method, subject });
    else if (by === "policy") this.#deps.emit({ kind: "approval_auto_approved", method, subject });
    else this.#deps.emit({ kind: "notification", method });
    return accepted ?? approval.decline();
  }
}

interface Asked {
  readonly method: string;
  readonly params: unknown;
  readonly id: RequestId;
  readonly approval: Approval;
}

function policyFor(kind: Question["kind"], approvals: ApprovalSettings): ApprovalPolicy {
  switch (kind) {
    case "command":
      return approvals.commands;
    case "file_change":
      return approvals.fileChanges;
    case "permissions":
      return approvals.permissions;
    case "elicitation":
      return approvals.elicitations;
    case "question":
      return approvals.questions;
    default:
      return kind satisfies never;
  }
}

function toolReply(success: boolean, text: string): DynamicToolReply {
  return { contentItems: [{ type: "inputText", text }], success };
}
