/** Requests for a decision, each with the exact shape of its yes and its no (a wrong shape is a quiet failure, measured). */
import type { Question } from "../../domain/outcome.ts";
import { arrayAt, asObject, booleanAt, bounded, objectAt, stringAt, type JsonObject } from "./reading.ts";

const SUBJECT_CHARS = 2000;

/** One request as a decision to take. */
export interface Approval {
  readonly kind: Question["kind"];
  /** One line for a person. */
  readonly summary: string;
  readonly subject: string | null;
  /** The reply that says yes, with a person's text where there is one; null when a bare yes can't answer it. */
  accept(text: string | null): unknown;
  /** The reply that says no; the turn goes on. */
  decline(): unknown;
}

/** What else is known about the request: the files of a change are in its item, not in the request. */
export interface ApprovalContext {
  changedPaths(itemId: string): readonly string[];
}

/** Reads a request; null when its method asks for no decision that we know. */
export function readApproval(method: string, params: unknown, context: ApprovalContext): Approval | null {
  switch (method) {
    case "item/commandExecution/requestApproval":
      return commandApproval(params);
    case "item/fileChange/requestApproval":
      return fileChangeApproval(params, context);
    case "item/permissions/requestApproval":
      return permissionsApproval(params);
    case "mcpServer/elicitation/request":
      return elicitation(params);
    case "item/tool/requestUserInput":
      return userInput(params);
    case "execCommandApproval":
      return legacyApproval("command", arrayAt(params, "command").map(String).join(" "));
    case "applyPatchApproval":
      return legacyApproval("file_change", Object.keys(objectAt(params, "fileChanges") ?? {}).join(", "));
    default:
      return null;
  }
}

/** `acceptForSession` and the execpolicy amendment reach further than one answer should; neither is ever sent. */
function decision(accept: string, decline: string): Pick<Approval, "accept" | "decline"> {
  return { accept: () => ({ decision: accept }), decline: () => ({ decision: decline }) };
}

function commandApproval(params: unknown): Approval {
  const command = stringAt(params, "command");
  const host = stringAt(objectAt(params, "networkApprovalContext"), "host");
  const subject = command ?? host;
  const what = command === null && host !== null ? `reach ${host}` : `run ${subject ?? "a command"}`;
  return {
    kind: "command",
    summary: withReason(`The agent asks to ${what}`, params),
    subject: boundedSubject(subject),
    ...decision("accept", "decline"),
  };
}

function fileChangeApproval(params: unknown, context: ApprovalContext): Approval {
  const paths = context.changedPaths(stringAt(params, "itemId") ?? "").join(", ");
  const subject = stringAt(params, "grantRoot") ?? (paths === "" ? null : paths);
  return {
    kind: "file_change",
    summary: withReason(`The agent asks to change ${subject ?? "files"}`, params),
    subject: boundedSubject(subject),
    ...decision("accept", "decline"),
  };
}

/** Old servers only. A new one's "denied" carries a reason, and it reads this string as a refusal too. */
function legacyApproval(kind: "command" | "file_change", subject: string): Approval {
  const verb = kind === "command" ? "run" : "change";
  return {
    kind,
    summary: bounded(`The agent asks to ${verb} ${subject}`, SUBJECT_CHARS),
    subject: boundedSubject(subject),
    ...decision("approved", "denied"),
  };
}

function permissionsApproval(params: unknown): Approval {
  const wanted = objectAt(params, "permissions") ?? {};
  const granted = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== null));
  const subject = JSON.stringify(granted);
  return {
    kind: "permissions",
    summary: withReason("The agent asks for more permissions", params),
    subject: boundedSubject(subject),
    accept: () => ({ permissions: granted, scope: "turn" }),
    decline: () => ({ permissions: {}, scope: "turn" }),
  };
}

/** An MCP server's question, or the app-server's own one whether an MCP tool may run; `_meta` tells them apart. */
function elicitation(params: unknown): Approval {
  const server = stringAt(params, "serverName") ?? "an MCP server";
  const meta = objectAt(params, "_meta");
  const isToolApproval = stringAt(meta, "codex_approval_kind") === "mcp_tool_call";
  const tool = stringAt(meta, "tool_name");
  return {
    kind: "elicitation",
    summary: bounded(stringAt(params, "message") ?? `${server} asks something`, SUBJECT_CHARS),
    subject: isToolApproval && tool !== null ? `${server}/${tool}` : server,
    accept: (text) => acceptElicitation(params, text),
    decline: () => ({ action: "decline", content: null, _meta: null }),
  };
}

/** A form with required fields wants them from a person; a page to visit or an identity to prove can't be accepted by policy. */
function acceptElicitation(params: unknown, text: string | null): unknown {
  const schema = objectAt(params, "requestedSchema");
  const content = text === null ? {} : fieldsFrom(text, schema);
  const isForm = schema !== null;
  if (isForm && arrayAt(schema, "required").every((name) => String(name) in content)) {
    return { action: "accept", content, _meta: null };
  }
  return !isForm && text !== null ? { action: "accept", content: null, _meta: null } : null;
}

/** A JSON object as it is; any other text is the value of the form's only field. */
function fieldsFrom(text: string, schema: JsonObject | null): JsonObject {
  try {
    const parsed = asObject(JSON.parse(text));
    if (parsed !== null) return parsed;
  } catch {
    // Plain text, for the only field.
  }
  const names = Object.keys(objectAt(schema, "properties") ?? {});
  return names.length === 1 ? { [names[0] ?? ""]: text } : {};
}

function userInput(params: unknown): Approval {
  const questions = arrayAt(params, "questions").map(readQuestion);
  return {
    kind: "question",
    summary: bounded(questions.map(({ text }) => text).join(" / ") || "The agent asks something", SUBJECT_CHARS),
    subject: boundedSubject(questions.map(({ text }) => text).join(" / ")),
    accept: (text) => answersTo(questions, text),
    decline: () => ({ answers: {} }),
  };
}

interface AskedQuestion {
  readonly id: string;
  readonly text: string;
  /** The first one is the one that the agent recommends. */
  readonly firstOption: string | null;
  readonly isSecret: boolean;
}

function readQuestion(value: unknown): AskedQuestion {
  return {
    id: stringAt(value, "id") ?? "",
    text: stringAt(value, "question") ?? stringAt(value, "header") ?? "",
    firstOption: stringAt(arrayAt(value, "options")[0], "label"),
    isSecret: booleanAt(value, "isSecret") ?? false,
  };
}

/** A person's text answers every question; policy can only take the recommended options, and never gives a secret. */
function answersTo(questions: readonly AskedQuestion[], text: string | null): unknown {
  const entries = questions.flatMap(({ id, firstOption, isSecret }): (readonly [string, unknown])[] => {
    const answer = text ?? (isSecret ? null : firstOption);
    return answer === null ? [] : [[id, { answers: [answer] }]];
  });
  return entries.length === 0 ? null : { answers: Object.fromEntries(entries) };
}

function withReason(sentence: string, params: unknown): string {
  const reason = stringAt(params, "reason");
  return bounded(reason === null || reason === "" ? sentence : `${sentence}: ${reason}`, SUBJECT_CHARS);
}

function boundedSubject(subject: string | null): string | null {
  return subject === null || subject === "" ? null : bounded(subject, SUBJECT_CHARS);
}
