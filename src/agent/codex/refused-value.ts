/** Names the setting behind a refusal such as "unknown variant `x`, expected one of `a`, `b`", which doesn't name it itself. */
import type { Settings } from "../../domain/settings.ts";
import { asObject, bounded, stringAt } from "./reading.ts";

const VALUE_CHARS = 200;

interface Candidate {
  readonly key: string;
  readonly value: unknown;
}

/** The sentence for a person: the key, the value, and what is accepted, as far as the refusal tells. */
export function refusedValue(method: string, message: string, settings: Settings): string {
  const reason = message.replace(/^Invalid request: */, "");
  const candidates = candidatesFor(method, settings);
  const named = candidates.filter(({ value }) => isAbout(reason, value));
  const guilty = named.length > 0 ? named : candidates;
  if (guilty.length === 0) return `${method} was refused by this version of the agent: ${reason}`;
  const values = guilty.map(({ key, value }) => `${key}: ${bounded(JSON.stringify(value), VALUE_CHARS)}`);
  return `${values.join(" or ")} was refused by the agent: ${accepted(reason) ?? reason}`;
}

function accepted(reason: string): string | null {
  const list =
    /expected one of (.+)$/s.exec(reason)?.[1] ?? /expected (`[^`]+` or `[^`]+`|`[^`]+`)$/s.exec(reason)?.[1];
  return list === undefined ? null : `accepted are ${list.replaceAll("`", "")}`;
}

/** What the workflow file itself set and this request carried. */
function candidatesFor(method: string, { codex }: Settings): readonly Candidate[] {
  const set: readonly Candidate[] = [
    { key: "codex.approval_policy", value: codex.approvalPolicy },
    { key: "codex.approvals_reviewer", value: codex.approvalsReviewer },
    method === "turn/start"
      ? { key: "codex.turn_sandbox_policy", value: codex.turnSandboxPolicy }
      : { key: "codex.thread_sandbox", value: codex.threadSandbox },
  ];
  return set.filter(({ value }) => value !== null && value !== undefined);
}

/** Whether a refusal quotes this value, its tag, or a field that only an object of this kind has. */
function isAbout(reason: string, value: unknown): boolean {
  const quoted = [...reason.matchAll(/(?:unknown variant|integer|string|boolean|field) [`"]([^`"]*)[`"]/g)].map(
    (found) => found[1],
  );
  if (asObject(value) === null) return quoted.includes(String(value));
  const tags = [stringAt(value, "type"), ...Object.keys(asObject(value) ?? {})];
  return quoted.some((word) => tags.includes(word ?? "")) || /AbsolutePathBuf|missing field/.test(reason);
}
