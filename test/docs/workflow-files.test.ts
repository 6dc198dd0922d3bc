/** The workflow files that ship with the product load with the real trackers, and render for any issue. */
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { trackerDescriptors } from "../../src/tracker/registry.ts";
import { loadWorkflow, type LoadedWorkflow } from "../../src/workflow/load.ts";
import { renderPrompt } from "../../src/workflow/template.ts";
import { makeIssue } from "../support/issues.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { appErrorOf } from "../support/workflow-files.ts";

const root = new URL("../../", import.meta.url).pathname;
const dir = await makeTempDir();
afterAll(() => dir.dispose());

/** A copy in a folder of the test's own, where what a file expects beside it may be made. */
async function copyOf(name: string): Promise<string> {
  const path = join(dir.path, name.replaceAll("/", "-"));
  await copyFile(join(root, name), path);
  return path;
}

function load(path: string, env: Readonly<Record<string, string>>): LoadedWorkflow {
  return loadWorkflow(path, { descriptors: trackerDescriptors, env: { HOME: "/home/me", ...env } });
}

beforeAll(async () => {
  await mkdir(join(dir.path, "board"));
});

const shipped = ["WORKFLOW.example.md", ...(await readdir(join(root, "workflows"))).map((name) => `workflows/${name}`)];

test.each(shipped)("%s loads without a warning and renders for a full and for a bare issue", async (name) => {
  const { prompt, warnings } = load(await copyOf(name), { LINEAR_API_KEY: "lin_api_example" });
  expect(warnings).toEqual([]);
  const full = makeIssue("ENG-7", { description: "Mend it.", labels: ["agent"], url: "https://example.com/ENG-7" });
  const first = renderPrompt(prompt, { issue: full, attempt: null });
  for (const text of ["ENG-7", "Title of ENG-7", "Mend it."]) expect(first).toContain(text);
  expect(first).not.toContain("retry");
  expect(renderPrompt(prompt, { issue: makeIssue("ENG-8"), attempt: 2 })).toContain("retry 2");
});

test("the example names the key that it needs when that is not set", async () => {
  const path = await copyOf("WORKFLOW.example.md");
  const error = appErrorOf(() => load(path, {}));
  expect(error.code).toBe("missing_tracker_secret");
  expect(error.message).toContain("LINEAR_API_KEY");
  expect(error.message).toContain(`${path}:11: tracker.provider.api_key`);
});

const forLinear = shipped.filter((name) => name !== "workflows/local.md");

test.each(forLinear)(
  "%s hands work over to people: where it leaves an issue is neither active nor terminal",
  async (name) => {
    const { settings, prompt } = load(await copyOf(name), { LINEAR_API_KEY: "lin_api_example" });
    const { activeStates, terminalStates } = settings.tracker;
    const left = name === "workflows/triage.md" ? "Backlog" : "In Review";
    expect([...activeStates, ...terminalStates]).not.toContain(left);
    expect(renderPrompt(prompt, { issue: makeIssue("ENG-7"), attempt: null })).toContain(`to ${left}`);
  },
);

test("the example is workflows/pull-request.md, explained", async () => {
  const [example, plain] = await Promise.all(
    ["WORKFLOW.example.md", "workflows/pull-request.md"].map(async (name) => {
      const { settings, prompt } = load(await copyOf(name), { LINEAR_API_KEY: "lin_api_example" });
      const { hooks } = settings;
      const others = { ...settings, workflowPath: null, workflowDir: null, revision: null, hooks: null };
      const words = renderPrompt(prompt, { issue: makeIssue("ENG-7"), attempt: 1 });
      // A comment in a script is part of its text.
      const scripts = Object.values(hooks).map((script) => String(script).replaceAll(/^ *#.*\n/gm, ""));
      return { words, others, scripts };
    }),
  );
  expect(example).toEqual(plain);
});

test("triage can read, and nothing else", async () => {
  const { settings } = load(await copyOf("workflows/triage.md"), { LINEAR_API_KEY: "lin_api_example" });
  expect(settings.codex.turnSandboxPolicy).toEqual({ type: "readOnly" });
  expect(settings.hooks.afterRun).toBeNull();
});
