/** What the simulated agent does without a script: a small visible change, a commit, a comment, and the ticket to Done. */
import type { Actions, ToolOutcome } from "./actions.ts";
import { isRecord } from "./wire.ts";

const NOTE = "This was done by the simulated agent that ships with symphony. No model was asked.";
/** Where every ticket ends that the simulated agent worked on; a default terminal state of every tracker kind. */
const DONE = "Done";

/** Works on one ticket, in one turn. Throws nothing of its own: what can't be done is said. */
export async function workByDefault(actions: Actions, ticket: string): Promise<void> {
  await actions.say(`Simulated agent at work on ${ticket}. ${NOTE}`);
  const file = `simulated/${ticket.replaceAll(/[^A-Za-z0-9._-]/g, "_")}.md`;
  await actions.writeFile(file, `# ${ticket}\n\n${NOTE}\n`, false, undefined);
  await commit(actions, file);
  if (actions.toolNames.includes("local_board")) return finishOnBoard(actions);
  if (actions.toolNames.includes("linear_graphql")) return finishOnLinear(actions, ticket);
  await actions.say("Simulated agent: no tracker tool was offered, so the ticket stays where it is.", {
    phase: "final_answer",
  });
}

/** Commits when the directory is a git work tree. The values reach the shell by environment only. */
async function commit(actions: Actions, file: string): Promise<void> {
  const command =
    'if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then git add -- simulated && git commit -q -m "Simulated change for $SIMULATED_TICKET"; fi';
  const end = await actions.shell(command, undefined);
  if (end === null || end.exitCode === 0) return;
  await actions.say(`Simulated agent: could not commit ${file}: ${end.output.trim()}`);
}

async function finishOnBoard(actions: Actions): Promise<void> {
  const [comment] = await actions.callTools(
    [{ tool: "local_board", arguments: { action: "comment", body: NOTE } }],
    undefined,
  );
  const [move] = await actions.callTools(
    [{ tool: "local_board", arguments: { action: "move", state: DONE } }],
    undefined,
  );
  await report(actions, comment, move);
}

async function report(
  actions: Actions,
  comment: ToolOutcome | undefined,
  move: ToolOutcome | undefined,
): Promise<void> {
  const failed = [comment, move].find((outcome) => outcome?.success !== true);
  const text =
    failed === undefined
      ? `Simulated agent: commented and moved to ${DONE}.`
      : `Simulated agent: the tracker refused: ${failed.text}`;
  await actions.say(text, { phase: "final_answer" });
}

const FIND = `query Find($id: String!) {
  issue(id: $id) { id team { states(filter: { type: { eq: "completed" } }) { nodes { id name } } } }
}`;
const COMMENT = `mutation Comment($id: String!, $body: String!) {
  commentCreate(input: { issueId: $id, body: $body }) { success }
}`;
const MOVE = `mutation Move($id: String!, $state: String!) {
  issueUpdate(id: $id, input: { stateId: $state }) { success }
}`;

async function graphql(
  actions: Actions,
  query: string,
  variables: Readonly<Record<string, string>>,
): Promise<ToolOutcome | undefined> {
  const [outcome] = await actions.callTools([{ tool: "linear_graphql", arguments: { query, variables } }], undefined);
  return outcome;
}

async function finishOnLinear(actions: Actions, ticket: string): Promise<void> {
  const found = await graphql(actions, FIND, { id: ticket });
  const target = readTarget(found?.text ?? "");
  if (target === null) return report(actions, { success: false, text: found?.text ?? "no answer" }, undefined);
  const comment = await graphql(actions, COMMENT, { id: target.id, body: NOTE });
  const move = await graphql(actions, MOVE, { id: target.id, state: target.stateId });
  return report(actions, comment, move);
}

/** The issue's id and its team's state named Done, else its first completed state. */
function readTarget(text: string): { id: string; stateId: string } | null {
  const issue = dig(parse(text), ["data", "issue"]);
  const id = dig(issue, ["id"]);
  const nodes = dig(issue, ["team", "states", "nodes"]);
  if (typeof id !== "string" || !Array.isArray(nodes)) return null;
  const states = nodes.filter(isRecord);
  const state = states.find((node) => node["name"] === DONE) ?? states[0];
  const stateId = state?.["id"];
  return typeof stateId === "string" ? { id, stateId } : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function dig(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}
