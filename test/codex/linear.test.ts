/** A Linear ticket on the real app-server: the model reads and moves it with `linear_graphql`, and never sees the key. */
import { expect, test } from "vitest";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import { startLinearServer } from "../fakes/linear/server.ts";
import { callTool, type ModelReply, runCommand, say, startResponsesServer } from "../fakes/responses-server.ts";
import { until } from "../support/until.ts";
import { DaemonBench } from "./daemon.ts";

const READ = `query Read($id: String!) {
  issue(id: $id) { id identifier state { name } team { states { nodes { id name } } } }
}`;
const MOVE = `mutation Move($id: String!, $state: String!) {
  issueUpdate(id: $id, input: { stateId: $state }) { success issue { state { name } } }
}`;

/** Everything that a command can see of the environment, and every file of the workspace. */
const LOOK_AROUND = "env; tr '\\0' '\\n' < /proc/self/environ; find . -type f -exec cat {} +";

test("a Linear ticket is read and moved with linear_graphql, and the key is nowhere that the model can look", async () => {
  const linear = await startLinearServer({ apiKey: "lin_api_0123456789abcdefSECRET" });
  const issue = linear.board.createIssue({
    title: "Write a greeting",
    description: "One friendly line.",
    state: "Todo",
  });
  const stateNamed = (name: string): string =>
    [...linear.board.states.values()].find((state) => state.name === name)?.id ?? "";
  const replies: readonly ModelReply[] = [
    runCommand(LOOK_AROUND),
    callTool("linear_graphql", { query: READ, variables: { id: issue.id } }),
    callTool("linear_graphql", { query: MOVE, variables: { id: issue.id, state: stateNamed("Done") } }),
    say("Moved to Done."),
  ];
  const model = await startResponsesServer(({ index }) => replies[index] ?? say("nothing is left to do"));
  await using bench = await DaemonBench.make(model);
  try {
    // The key is in the daemon's environment under its own name and under two others that a child would inherit.
    bench.env["LINEAR_API_KEY"] = linear.apiKey;
    bench.env["CODEX_NOTES"] = linear.apiKey;
    bench.env["SOME_TOKEN"] = linear.apiKey;
    bench.env["PLAIN_NOTE"] = "nothing secret";
    await bench.writeWorkflow(
      {
        tracker: { kind: "linear", provider: { endpoint: linear.url, project_slug: "demo" } },
        codex: { env_inherit: "all" },
      },
      "Ticket {{ issue.identifier }}: {{ issue.title }}",
    );
    await bench.start();
    await until(
      "the model has moved the issue",
      () => linear.board.issues.get(issue.id)?.stateId === stateNamed("Done"),
    );
    const [run] = await bench.endedRuns(issue.identifier);
    expect(run).toMatchObject({ outcome: "succeeded", turns: 1 });
    await until("the workspace is removed", async () => (await bench.workspaceNames()).length === 0);

    const [looked, read, moved] = model.requests.at(-1)?.outputs ?? [];
    // The command really saw an environment and files.
    expect(looked).toContain("PLAIN_NOTE=nothing secret");
    expect(looked).toContain("CODEX_HOME=");
    expect(looked).toContain("[core]");
    expect(read).toContain(`"identifier":"${issue.identifier}"`);
    expect(moved).toContain(`"name":"Done"`);
    expect(JSON.stringify(model.requests.map(({ body, headers }) => ({ body, headers })))).not.toContain(linear.apiKey);
    expect(bench.log).not.toContain(linear.apiKey);
    const moves = linear.requests.filter((request) => request.kind === "mutation");
    expect(moves.map(({ authorized, rootFields }) => ({ authorized, rootFields }))).toEqual([
      { authorized: true, rootFields: ["issueUpdate"] },
    ]);

    const usage = await bench.ask("usage");
    const { input, output } = model.reported;
    expect(isRecord(usage) && usage["total"]).toMatchObject({ input_tokens: input, output_tokens: output });
    expect(await bench.stop()).toBe(0);
  } finally {
    await model.close();
    await linear.close();
  }
});
