/** What a user sees who has made a mistake: one clear line that names key, value and mend; and nothing half-made is left. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runProgram } from "../support/program.ts";
import { filesBelow, makeSurroundings, processesBelow, type Surroundings } from "./command-line.ts";

const BOARD = "tracker: { kind: local, provider: { path: ./board } }";
const AGENT = "codex: { command: cat }";
const GOOD = `---\n${BOARD}\n${AGENT}\n---\nWork on {{ issue.identifier }}.\n`;

interface Mistake {
  readonly name: string;
  /** WORKFLOW.md's text; null = there is none. */
  readonly file: string | null;
  readonly args?: readonly string[];
  /** All of it must be in the line. */
  readonly says: readonly string[];
}

function settings(...lines: readonly string[]): string {
  return `---\n${lines.join("\n")}\n---\nWork on {{ issue.identifier }}.\n`;
}

const MISTAKES: readonly Mistake[] = [
  { name: "no WORKFLOW.md", file: null, says: ["WORKFLOW.md", "no such file", "WORKFLOW.example.md"] },
  { name: "unreadable YAML", file: "---\ntracker: [\n---\nhello\n", says: ["WORKFLOW.md:2", "YAML"] },
  { name: "front matter that is no map", file: "---\n- a\n---\nhello\n", says: ["a list, not a map", "key: value"] },
  {
    name: "an unknown tracker kind",
    file: settings("tracker: { kind: jira }", AGENT),
    says: ["tracker.kind", "jira", "linear"],
  },
  { name: "no front matter", file: "Work on it.\n", says: ["tracker.kind", "missing"] },
  {
    name: "a board without a path",
    file: settings("tracker: { kind: local }", AGENT),
    says: ["tracker.provider.path", "missing", "./board"],
  },
  {
    name: "Linear without a key",
    file: settings("tracker: { kind: linear, provider: { project_slug: demo } }", AGENT),
    says: ["tracker.provider.api_key", "LINEAR_API_KEY"],
  },
  {
    name: "a wrong type",
    file: settings(BOARD, AGENT, "polling: { interval_ms: soon }"),
    says: ["polling.interval_ms", "soon", "30000"],
  },
  {
    name: "an unknown template variable",
    file: `---\n${BOARD}\n${AGENT}\n---\n{{ issue.titel }}\n`,
    says: ["issue.titel", "title"],
  },
  {
    name: "a workspace root that is a file",
    file: settings(BOARD, AGENT, "workspace: { root: ./a-file }"),
    says: ["workspace.root", "a-file", "folder"],
  },
  {
    name: "an agent command that doesn't exist",
    file: settings(BOARD, "codex: { command: no-such-agent --serve }"),
    says: ["codex.command", "no-such-agent"],
  },
  {
    name: "workers on other hosts",
    file: settings(BOARD, AGENT, "worker: { ssh_hosts: [one] }"),
    says: ["worker.ssh_hosts", "one", "remove the key"],
  },
  {
    name: "a state directory that can't be made",
    file: settings(BOARD, AGENT, "state: { dir: ./a-file/state }"),
    says: ["a-file/state", "state.dir"],
  },
  {
    name: "a --log-file that can't be written",
    file: GOOD,
    args: ["--log-file", "a-file/log"],
    says: ["--log-file", "a-file/log"],
  },
];

/** A user with a board, and a file where a folder might be wanted. */
async function makeUser(workflow: string | null): Promise<Surroundings> {
  const user = await makeSurroundings();
  await mkdir(join(user.dir, "board"));
  await writeFile(join(user.dir, "a-file"), "not a folder\n");
  if (workflow !== null) await writeFile(join(user.dir, "WORKFLOW.md"), workflow);
  return user;
}

// Both again in processes of their own; the cases below share this one, which costs a tenth.
test.concurrent("a daemon that can't start is one line, exit code 1 and nothing else, to a shell too", async () => {
  await using user = await makeUser(settings(BOARD, "codex: { command: no-such-agent --serve }"));
  const before = await filesBelow(user.root);
  const { code, signal, stdout, stderr } = await user.run([]);
  expect(stderr).toMatch(/^symphony: [^\n]*no-such-agent[^\n]*\n$/);
  expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: "" });
  expect(await filesBelow(user.root)).toEqual(before);
});

test.concurrent("a command line that can't be understood is one line and exit code 2, to a shell too", async () => {
  await using user = await makeSurroundings();
  const { code, stdout, stderr } = await user.run(["--nope"]);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^symphony: .*--nope/),
  });
});

describe("a daemon that can't start", () => {
  test.each(MISTAKES)(
    "says what is wrong with $name in one line, exits with 1 and leaves nothing",
    async ({ file, args = [], says }) => {
      await using user = await makeUser(file);
      const before = await filesBelow(user.root);
      const { code, stdout, stderr } = await runProgram(user, args);
      expect(stderr).toMatch(/^symphony: [^\n]+\n$/);
      for (const text of says) expect(stderr).toContain(text);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(await filesBelow(user.root)).toEqual(before);
      expect(processesBelow(user.root)).toEqual([]);
    },
  );

  test("names every mistake of a file at once, a line each", async () => {
    await using user = await makeUser(
      settings(BOARD, AGENT, "polling: { interval_ms: soon }", "agent: { max_turns: 0 }"),
    );
    const { code, stderr } = await runProgram(user, []);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^symphony: .*polling\.interval_ms/),
      expect.stringMatching(/^symphony: .*agent\.max_turns/),
    ]);
  });
});

describe("a command line that can't be understood", () => {
  test.each([
    [["--nope"], "--nope"],
    [["usage", "--by", "year"], "--by"],
    [["one.md", "two.md"], "too many arguments"],
    [["ledger"], "ledger needs a command: backup, check, prune"],
    [["ledger", "bakup", "x"], "ledger has no command bakup; did you mean backup?"],
    [["protocol"], "protocol needs a command: check"],
  ])("%j is a usage error: one line, exit code 2", async (args, says) => {
    await using user = await makeSurroundings();
    const { code, stdout, stderr } = await runProgram(user, args);
    expect(stderr).toMatch(/^symphony: [^\n]+\n$/);
    expect(stderr).toContain(says);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});

describe("a report without a ledger", () => {
  test("usage says where it looked and exits with 1", async () => {
    await using user = await makeSurroundings();
    const { code, stdout, stderr } = await runProgram(user, ["usage", "--state-dir", "nowhere", "--json"]);
    expect(stderr).toMatch(/^symphony: [^\n]*nowhere\/ledger\.db[^\n]*\n$/);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(await filesBelow(user.root)).toEqual(["home", "tmp", "work"]);
  });
});
