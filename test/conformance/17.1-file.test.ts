/** Section 17.1, the file itself: what is read from WORKFLOW.md, what it means, and what is wrong with it. */
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Settings } from "../../src/domain/settings.ts";
import { trackerDescriptors } from "../../src/tracker/registry.ts";
import { splitWorkflow } from "../../src/workflow/front-matter.ts";
import { loadWorkflow, type LoadedWorkflow } from "../../src/workflow/load.ts";
import { renderPrompt } from "../../src/workflow/template.ts";
import { makeSurroundings } from "../e2e/command-line.ts";
import { makeIssue } from "../support/issues.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { appErrorOf, writeWorkflow } from "../support/workflow-files.ts";

const HOME = "/home/tester";
const LOCAL = "tracker: { kind: local, provider: { path: ./board } }";
const LINEAR_KEY = "lin_api_conformance";

let dir: TempDir;

beforeEach(async () => {
  dir = await makeTempDir();
  mkdirSync(join(dir.path, "board"));
});
afterEach(() => dir.dispose());

function load(content: string, env: Readonly<Record<string, string>> = {}): LoadedWorkflow {
  const options = { descriptors: trackerDescriptors, env, homeDir: HOME };
  return loadWorkflow(writeWorkflow(dir.path, content), options);
}

/** The settings of a file with the local board and these further lines. */
function settingsOf(lines: string, env: Readonly<Record<string, string>> = {}): Settings {
  return load(`---\n${LOCAL}\n${lines}\n---\nWork.\n`, env).settings;
}

function promptOf(body: string): LoadedWorkflow["prompt"] {
  return load(`---\n${LOCAL}\n---\n${body}\n`).prompt;
}

function linear(keys: string, env: Readonly<Record<string, string>> = {}): Settings {
  return load(`---\ntracker: { kind: linear, ${keys} }\n---\nWork.\n`, env).settings;
}

function codeOf(work: () => unknown): string {
  return appErrorOf(work).code;
}

describe("17.1", () => {
  it("an explicit path is used when it is given", async () => {
    await using user = await makeSurroundings();
    mkdirSync(join(user.dir, "elsewhere"));
    writeWorkflow(user.dir, "---\ntracker: { kind: default }\n---\n");
    const chosen = writeWorkflow(join(user.dir, "elsewhere"), "---\ntracker: { kind: chosen }\n---\n");
    const { stderr } = await user.run([chosen]);
    expect(stderr).toContain(chosen);
    expect(stderr).toContain('"chosen" is not supported');
  });

  it("WORKFLOW.md in the current directory is used when no path is given", async () => {
    await using user = await makeSurroundings();
    const path = writeWorkflow(user.dir, "---\ntracker: { kind: default }\n---\n");
    const { stderr } = await user.run([]);
    expect(stderr).toContain(path);
    expect(stderr).toContain('"default" is not supported');
  });

  it("a missing file is the error missing_workflow_file", () => {
    const options = { descriptors: trackerDescriptors, env: {} };
    expect(codeOf(() => loadWorkflow(join(dir.path, "NONE.md"), options))).toBe("missing_workflow_file");
  });

  it("invalid YAML is the error workflow_parse_error", () => {
    expect(codeOf(() => load("---\ntracker: [\n---\nWork.\n"))).toBe("workflow_parse_error");
  });

  it("front matter that is no map is the error workflow_front_matter_not_a_map", () => {
    expect(codeOf(() => load("---\n- tracker\n---\nWork.\n"))).toBe("workflow_front_matter_not_a_map");
  });

  it("a file without front matter is all prompt", () => {
    const text = "Work on it.\n\n---\nnot: front matter\n---";
    expect(splitWorkflow("WORKFLOW.md", text)).toMatchObject({ yaml: null, body: text });
    // With an empty configuration nothing names a tracker, and a daemon needs one.
    expect(appErrorOf(() => load(text)).message).toContain("tracker.kind");
  });

  it("defaults apply where values are missing", () => {
    const settings = settingsOf("");
    expect(settings).toMatchObject({
      tracker: { requiredLabels: [], activeStates: ["Todo", "In Progress"] },
      polling: { intervalMs: 30_000 },
      workspace: { root: join(tmpdir(), "symphony_workspaces") },
      hooks: { afterCreate: null, beforeRun: null, afterRun: null, beforeRemove: null, timeoutMs: 60_000 },
      agent: {
        maxConcurrentAgents: 10,
        maxTurns: 20,
        maxRetryBackoffMs: 300_000,
        maxConcurrentAgentsByState: {},
      },
      codex: { command: "codex app-server", turnTimeoutMs: 3_600_000, readTimeoutMs: 5000, stallTimeoutMs: 300_000 },
      server: { port: null },
    });
    expect(settings.tracker.terminalStates).toEqual(["Done", "Closed", "Cancelled", "Canceled", "Duplicate"]);
  });

  it("tracker.kind is one of the supported kinds", () => {
    expect(settingsOf("").tracker.kind).toBe("local");
    expect(linear(`provider: { project_slug: demo, api_key: ${LINEAR_KEY} }`).tracker.kind).toBe("linear");
    expect(codeOf(() => load("---\ntracker: { kind: jira }\n---\nWork.\n"))).toBe("unsupported_tracker_kind");
    expect(codeOf(() => load("---\npolling: {}\n---\nWork.\n"))).toBe("invalid_workflow_config");
  });

  it("the tracker's key is taken as it is written, or from an environment variable", () => {
    const keyOf = (settings: Settings): readonly string[] => settings.secrets.map((secret) => secret.value);
    expect(keyOf(linear(`provider: { project_slug: demo, api_key: ${LINEAR_KEY} }`))).toEqual([LINEAR_KEY]);
    const byName = "provider: { project_slug: demo, api_key: $TEAM_KEY }";
    expect(keyOf(linear(byName, { TEAM_KEY: LINEAR_KEY }))).toEqual([LINEAR_KEY]);
    expect(keyOf(linear("provider: { project_slug: demo }", { LINEAR_API_KEY: LINEAR_KEY }))).toEqual([LINEAR_KEY]);
    for (const env of [{}, { TEAM_KEY: "" }]) {
      expect(codeOf(() => linear(byName, env))).toBe("missing_tracker_secret");
    }
  });

  it("$VAR is resolved where it is the whole value and in paths, and neither in commands nor in URLs", () => {
    const env = { DISK: "/mnt/disk", SLUG: "demo", LINEAR_API_KEY: LINEAR_KEY };
    expect(settingsOf("workspace: { root: $DISK }", env).workspace.root).toBe("/mnt/disk");
    expect(settingsOf("workspace: { root: $DISK/ws }", env).workspace.root).toBe("/mnt/disk/ws");
    const { codex, hooks } = settingsOf("codex: { command: $DISK }\nhooks: { before_run: cd $DISK }", env);
    expect([codex.command, hooks.beforeRun]).toEqual(["$DISK", "cd $DISK"]);
    const { provider } = linear("provider: { endpoint: https://example.org/$SLUG, project_slug: $SLUG }", env).tracker;
    expect(provider).toMatchObject({ endpoint: "https://example.org/$SLUG", scope: { projectSlug: "demo" } });
  });

  it("~ in a path is the home directory", () => {
    expect(settingsOf("workspace: { root: ~/agents }").workspace.root).toBe(join(HOME, "agents"));
  });

  it("codex.command stays the shell string that it is", () => {
    const command = `FOO='a b' "$BIN"/codex --flag $(cat ~/x) app-server | tee "log"`;
    expect(settingsOf(`codex: { command: ${JSON.stringify(command)} }`, { BIN: "/bin" }).codex.command).toBe(command);
  });

  it("per-state caps have normalized names, and invalid ones are ignored", () => {
    const caps = '{ " In Progress ": 2, TODO: 3, Done: 0, Review: -1, Merging: many }';
    const settings = settingsOf(`agent: { max_concurrent_agents_by_state: ${caps} }`);
    expect(settings.agent.maxConcurrentAgentsByState).toEqual({ "in progress": 2, todo: 3 });
  });

  it("an unknown key is ignored, with a warning", () => {
    const { settings, warnings } = load(`---\n${LOCAL}\npoling: { interval_ms: 5 }\n---\nWork.\n`);
    expect(settings.polling.intervalMs).toBe(30_000);
    expect(warnings).toEqual([expect.stringContaining("poling")]);
  });

  it("the template renders issue and attempt", () => {
    const body =
      "{{ issue.identifier }}: {{ issue.title }}, {{ issue.labels | join: '+' }}{% if attempt %}, try {{ attempt }}{% endif %}";
    const issue = makeIssue("ENG-7", { title: "Mend it", labels: ["a", "b"] });
    expect(renderPrompt(promptOf(body), { issue, attempt: null })).toBe("ENG-7: Mend it, a+b");
    expect(renderPrompt(promptOf(body), { issue, attempt: 2 })).toBe("ENG-7: Mend it, a+b, try 2");
  });

  it("rendering fails on an unknown variable and on an unknown filter", () => {
    const prompt = promptOf("{{ issue.native_ref.sprint }}");
    const issue = makeIssue("ENG-7", { native_ref: { cycle: 3 } });
    expect(codeOf(() => renderPrompt(prompt, { issue, attempt: null }))).toBe("template_render_error");
    expect(codeOf(() => promptOf("{{ issue.title | shout }}"))).toBe("template_render_error");
  });

  it("a template that can't be parsed is the error template_parse_error", () => {
    expect(codeOf(() => promptOf("{% if issue.title %} never closed"))).toBe("template_parse_error");
  });

  it("a name that no issue has is an error at load already, in branches that are never taken too", () => {
    expect(codeOf(() => promptOf("{{ issue.titel }}"))).toBe("template_render_error");
    expect(codeOf(() => promptOf("{% if false %}{{ nothing }}{% endif %}"))).toBe("template_render_error");
  });

  it("an empty body gets a prompt of our own", () => {
    const issue = makeIssue("ENG-7", { title: "Mend it", description: "It is broken." });
    const prompt = renderPrompt(promptOf(""), { issue, attempt: null });
    for (const text of ["ENG-7", "Mend it", "It is broken."]) expect(prompt).toContain(text);
  });

  it("a relative workspace root is anchored at the file's folder", () => {
    expect(settingsOf("workspace: { root: ../ws }").workspace.root).toBe(join(dir.path, "../ws"));
  });

  it("the environment never overrides a value of the file", () => {
    const env = { LINEAR_API_KEY: "lin_api_other", LINEAR_ASSIGNEE: "somebody" };
    const settings = linear(`provider: { project_slug: demo, api_key: ${LINEAR_KEY}, assignee: me }`, env);
    expect(settings.tracker.provider).toMatchObject({ assignee: "me", credential: { token: LINEAR_KEY } });
  });

  it("Linear's keys are taken without provider too, as older files have them", () => {
    const flat = linear(`api_key: ${LINEAR_KEY}, project_slug: demo, assignee: me`);
    const nested = linear(`provider: { api_key: ${LINEAR_KEY}, project_slug: demo, assignee: me }`);
    expect(flat.tracker.provider).toEqual(nested.tracker.provider);
  });
});
