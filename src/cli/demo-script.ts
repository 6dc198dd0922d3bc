/** What the simulated agent does for each of the demo's tickets, with the token figures that it reports (docs/simulated-agent.md). */
import type { JsonValue } from "../domain/issue.ts";

type Json = { readonly [key: string]: JsonValue };

/** Each simulated model response: what it costs, on a thread that has had `nth` of them. */
function cost(nth: number, output: number): Json {
  const input = 1800 + 350 * nth;
  return { input, cached_input: nth === 0 ? 0 : input - 350, output, reasoning: Math.floor(output / 3) };
}

/** Long enough for a person to see that something is going on. */
const PAUSE: Json = { do: "wait", ms: 500 };

function say(text: string, tokens: Json): Json {
  return { do: "say", text, tokens };
}

function begin(): readonly Json[] {
  const calls: readonly Json[] = [
    { tool: "local_board", arguments: { action: "move", state: "In Progress" } },
    { tool: "local_board", arguments: { action: "get" } },
  ];
  return [{ do: "parallel", calls, tokens: cost(0, 90) }, PAUSE];
}

function write(path: string, content: string, nth: number): Json {
  return { do: "write_file", path, content, tokens: cost(nth, 60 + Math.ceil(content.length / 4)) };
}

/** Again after a crash, so each command may find that it has been run before. The message reaches the shell as it stands here. */
function commit(message: string, nth: number): Json {
  const command = `sh check.sh && git add --all && { git diff --cached --quiet || git commit --quiet --message '${message}'; }`;
  return { do: "shell", command, tokens: cost(nth, 45) };
}

function deliver(comment: string, nth: number): readonly Json[] {
  const push = 'git push --quiet --force origin "HEAD:refs/heads/demo/$SIMULATED_TICKET"';
  const body = `${comment} On the branch demo/{{ticket}}. (Simulated agent: no model was asked.)`;
  const comments: Json = {
    do: "tool",
    tool: "local_board",
    arguments: { action: "comment", body },
    tokens: cost(nth + 1, 70),
  };
  const moves: Json = {
    do: "tool",
    tool: "local_board",
    arguments: { action: "move", state: "Done" },
    tokens: cost(nth + 2, 25),
  };
  return [
    { do: "shell", command: push, tokens: cost(nth, 30) },
    PAUSE,
    comments,
    moves,
    say("Done.", cost(nth + 3, 12)),
  ];
}

const NAMED = '#!/bin/sh\necho "Hello${1:+, $1}!"\n';
const GERMAN = '#!/bin/sh\nif [ "$GREET_LANG" = de ]; then word=Hallo; else word=Hello; fi\necho "$word${1:+, $1}!"\n';
const STRICT = '#!/bin/sh\nif [ $# -gt 1 ]; then echo "one name, please" >&2; exit 2; fi\necho "Hello!"\n';
const README =
  "# greet\n\nA program that greets. It exists so that somebody can work on it.\n\nRun the checks with `sh check.sh`.\n";
const MANUAL = "# Manual\n\n`greet.sh` says hello.\n";
const EXAMPLES = "\n## Examples\n\n    sh greet.sh\n";

function change(path: string, content: string, message: string): readonly Json[] {
  return [...begin(), write(path, content, 1), PAUSE, commit(message, 2), ...deliver(`${message}.`, 3)];
}

function run(...turns: readonly (readonly Json[])[]): Json {
  return { turns: turns.map((steps) => ({ steps })) };
}

/** The script as its file holds it. */
export function demoScript(): Json {
  const merge = "git fetch --quiet origin && git merge --quiet --ff-only origin/demo/DEMO-1";
  const german = [
    ...begin(),
    { do: "shell", command: merge, tokens: cost(1, 40) },
    write("greet.sh", GERMAN, 2),
    PAUSE,
    commit("Greet in German", 3),
    ...deliver("Greets in German, on top of DEMO-1.", 4),
  ];
  const sittings = [
    [
      ...begin(),
      write("MANUAL.md", MANUAL, 1),
      PAUSE,
      commit("Begin the manual", 2),
      say("The first half of the manual stands. The examples are next.", cost(3, 40)),
    ],
    [
      write("MANUAL.md", MANUAL + EXAMPLES, 4),
      PAUSE,
      commit("Add examples to the manual", 5),
      ...deliver("The manual is complete.", 6),
    ],
  ];
  const failing = [
    ...begin(),
    say("I begin with the exit code.", cost(1, 30)),
    { do: "fail", message: "the model answered 500 (simulated, on purpose)", error: "internalServerError" },
  ];
  return {
    tickets: {
      "DEMO-1": { runs: [run(change("greet.sh", NAMED, "Greet people by name"))] },
      "DEMO-2": { runs: [run(german)] },
      "DEMO-3": { runs: [run(...sittings)] },
      "DEMO-4": { runs: [run(failing), run(change("greet.sh", STRICT, "Refuse more than one name"))] },
      "DEMO-5": { runs: [run(change(".gitignore", "*~\n*.swp\n", "Ignore backup files"))] },
      "DEMO-6": { runs: [run(change("README.md", README, "Say how to run the checks"))] },
    },
  };
}
