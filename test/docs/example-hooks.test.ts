/** The hooks of WORKFLOW.example.md do what the file says, on a real repository and with a stand-in for `gh`. */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";

import { trackerDescriptors } from "../../src/tracker/registry.ts";
import { loadWorkflow } from "../../src/workflow/load.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const example = new URL("../../WORKFLOW.example.md", import.meta.url).pathname;
const dir = await makeTempDir();
afterAll(() => dir.dispose());

const origin = join(dir.path, "origin.git");
const workspace = join(dir.path, "ENG-7");
const bin = join(dir.path, "bin");
const hostileTitle = 'Mend $(touch pwned) `touch pwned` "it" \'';

/** Keeps its calls, one a line, and knows of a pull request once it was told to create one. */
const GH = `#!/bin/sh
printf '%s\\n' "$*" >> "${dir.path}/gh.log"
[ "$2" = list ] && grep -c 'pr create' "${dir.path}/gh.log"
exit 0
`;

const env = {
  PATH: `${bin}:${process.env["PATH"] ?? ""}`,
  HOME: dir.path,
  GIT_CONFIG_GLOBAL: join(dir.path, "gitconfig"),
  GIT_CONFIG_NOSYSTEM: "1",
  SYMPHONY_ISSUE_IDENTIFIER: "ENG-7",
  SYMPHONY_ISSUE_TITLE: hostileTitle,
  SYMPHONY_ISSUE_URL: "https://linear.app/x/issue/ENG-7",
};

async function git(cwd: string, ...args: string[]): Promise<string> {
  return (await execa("git", args, { cwd, env })).stdout;
}

/** `bash -c`: a login profile of this machine could put another PATH in front of the stand-in. */
async function runHook(script: string | null): Promise<void> {
  const local = (script ?? "exit 9").replaceAll("git@github.com:your-org/your-repository.git", origin);
  await execa("bash", ["-c", local], { cwd: workspace, env });
}

function hooks() {
  const options = { descriptors: trackerDescriptors, env: { LINEAR_API_KEY: "lin_api_example", HOME: dir.path } };
  return loadWorkflow(example, options).settings.hooks;
}

async function commit(name: string): Promise<void> {
  await writeFile(join(workspace, name), name);
  await git(workspace, "add", name);
  await git(workspace, "commit", "--quiet", "--message", name);
}

async function ghCalls(kind: string): Promise<readonly string[]> {
  const lines = (await readFile(join(dir.path, "gh.log"), "utf8")).split("\n");
  return lines.filter((line) => line.startsWith(`pr ${kind}`));
}

beforeAll(async () => {
  await mkdir(bin);
  await mkdir(workspace);
  await writeFile(join(bin, "gh"), GH);
  await chmod(join(bin, "gh"), 0o755);
  await writeFile(
    env.GIT_CONFIG_GLOBAL,
    "[user]\n  name = Test\n  email = test@example.com\n[init]\n  defaultBranch = main\n",
  );
  const seed = join(dir.path, "seed");
  await git(dir.path, "init", "--quiet", seed);
  await git(seed, "commit", "--quiet", "--allow-empty", "--message", "Begin");
  await git(dir.path, "clone", "--quiet", "--bare", seed, origin);
});

test("a new workspace is a clone on the issue's own branch, and work is published once there is some", async () => {
  const { afterCreate, beforeRun, afterRun } = hooks();
  await runHook(afterCreate);
  await runHook(beforeRun);
  expect(await git(workspace, "branch", "--show-current")).toBe("symphony/ENG-7");

  await runHook(afterRun);
  expect(await git(origin, "branch", "--list", "symphony/*")).toBe("");

  await commit("one");
  await runHook(afterRun);
  expect(await git(origin, "log", "--format=%s", "symphony/ENG-7")).toBe("one\nBegin");
  expect(await ghCalls("create")).toEqual([
    `pr create --head symphony/ENG-7 --title ENG-7: ${hostileTitle} --body https://linear.app/x/issue/ENG-7`,
  ]);

  await commit("two");
  await git(workspace, "commit", "--quiet", "--amend", "--message", "two, better");
  await runHook(afterRun);
  expect(await git(origin, "log", "--format=%s", "symphony/ENG-7")).toBe("two, better\none\nBegin");
  expect(await ghCalls("create")).toHaveLength(1);
  expect(await git(workspace, "status", "--porcelain")).toBe("");
});
