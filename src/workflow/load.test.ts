/** WORKFLOW.md as a whole: every error code, what settings come of it, and that one error tells everything. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { execa } from "execa";
import { afterAll, describe, expect, test } from "vitest";

import { makeTempDir } from "../../test/support/temp-dir.ts";
import { appErrorOf, loadOptions, loadText, workflowText, writeWorkflow } from "../../test/support/workflow-files.ts";
import { loadWorkflow } from "./load.ts";

const dir = await makeTempDir();
afterAll(() => dir.dispose());

function load(yaml = "", env: Readonly<Record<string, string>> = {}) {
  return loadText(dir.path, workflowText(yaml), env);
}

describe("the file", () => {
  test("its path is made absolute, its content named, and its body kept trimmed", () => {
    const path = writeWorkflow(dir.path, workflowText("", "\n  Work.  \n"));
    const { settings, prompt } = loadWorkflow(relative(process.cwd(), path), loadOptions());
    expect(settings.workflowPath).toBe(path);
    expect(settings.revision).toMatch(/^[0-9a-f]{12}$/);
    expect(settings.promptTemplate).toBe("Work.");
    expect(prompt.source).toBe("Work.");
    expect(load("polling: {interval_ms: 5}").settings.revision).not.toBe(settings.revision);
  });

  test("settings are frozen to the last list", () => {
    const { settings } = load();
    expect(Object.isFrozen(settings)).toBe(true);
    expect(Object.isFrozen(settings.tracker.activeStates)).toBe(true);
    expect(Object.isFrozen(settings.codex.images)).toBe(true);
  });

  test("an absent file is missing_workflow_file", () => {
    const path = join(dir.path, "nowhere.md");
    const error = appErrorOf(() => loadWorkflow(path, loadOptions()));
    expect(error.code).toBe("missing_workflow_file");
    expect(error.message).toBe(
      `${path}: there is no such file; write one (WORKFLOW.example.md is a start), or name another file`,
    );
  });

  test("a folder is missing_workflow_file", () => {
    const error = appErrorOf(() => loadWorkflow(dir.path, loadOptions()));
    expect(error).toMatchObject({ code: "missing_workflow_file" });
    expect(error.message).toContain("this is a folder");
  });

  test("a link to nowhere is missing_workflow_file", () => {
    const path = join(dir.path, "dangling.md");
    symlinkSync(join(dir.path, "gone.md"), path);
    expect(appErrorOf(() => loadWorkflow(path, loadOptions())).code).toBe("missing_workflow_file");
  });

  test("a named pipe is missing_workflow_file, and nobody waits for it", async () => {
    const path = join(dir.path, "pipe.md");
    await execa("mkfifo", [path]);
    const error = appErrorOf(() => loadWorkflow(path, loadOptions()));
    expect(error.message).toContain("no regular file");
  });

  test("a file that is far too large is refused before it is read", () => {
    const path = writeWorkflow(dir.path, "x".repeat(1_048_577));
    const error = appErrorOf(() => loadWorkflow(path, loadOptions()));
    expect(error).toMatchObject({ code: "workflow_parse_error" });
    expect(error.message).toContain("is it the right file?");
  });

  test("bytes that are no UTF-8 are workflow_parse_error", () => {
    const path = join(dir.path, "latin.md");
    writeFileSync(path, Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xe9, 0x0a]));
    expect(appErrorOf(() => loadWorkflow(path, loadOptions()))).toMatchObject({ code: "workflow_parse_error" });
  });

  test("front matter that is no map is workflow_front_matter_not_a_map", () => {
    const error = appErrorOf(() => loadText(dir.path, "---\n- tracker\n---\nBody"));
    expect(error.code).toBe("workflow_front_matter_not_a_map");
  });

  test("a file without front matter is all prompt, and so lacks its tracker", () => {
    const error = appErrorOf(() => loadText(dir.path, "Work on {{ issue.identifier }}."));
    expect(error.code).toBe("invalid_workflow_config");
    expect(error.message).toBe(
      `${join(dir.path, "WORKFLOW.md")}:1: tracker.kind: the key is missing; known kinds are plain, keyed`,
    );
  });

  test("a template that can't be read is template_parse_error with the file's line", () => {
    const error = appErrorOf(() => loadText(dir.path, workflowText("", "One\n\n{% if issue.title %}")));
    expect(error).toMatchObject({ code: "template_parse_error", data: { line: 8 } });
  });

  test("an unknown input is template_render_error with the file's line", () => {
    const error = appErrorOf(() => loadText(dir.path, workflowText("", "One\n{{ ticket.title }}")));
    expect(error).toMatchObject({ code: "template_render_error", data: { line: 7 } });
  });
});

describe("the tracker", () => {
  test("an unknown kind is unsupported_tracker_kind and names those that there are", () => {
    const error = appErrorOf(() => loadText(dir.path, "---\ntracker:\n  kind: jira\n---\n"));
    expect(error.code).toBe("unsupported_tracker_kind");
    expect(error.message).toBe(
      `${join(dir.path, "WORKFLOW.md")}:3: tracker.kind: "jira" is not supported; use plain or keyed`,
    );
  });

  test("a near miss is named", () => {
    const error = appErrorOf(() => loadText(dir.path, "---\ntracker:\n  kind: Plain\n---\n"));
    expect(error.message).toContain("did you mean plain? Known are plain and keyed");
  });

  test("states default to the adapter's, and the file's take their place", () => {
    expect(load().settings.tracker).toMatchObject({ activeStates: ["Todo", "In Progress"], terminalStates: ["Done"] });
    const own = load("  active_states: [Ready, ' ready ', Doing]\n  terminal_states: Shipped, Dropped").settings
      .tracker;
    expect(own).toMatchObject({ activeStates: ["Ready", "Doing"], terminalStates: ["Shipped", "Dropped"] });
  });

  test("old flat keys are taken as the adapter's own", () => {
    const { settings, warnings } = loadText(
      dir.path,
      "---\ntracker:\n  kind: keyed\n  api_key: $THE_KEY\n  project_slug: web\n---\n",
      { THE_KEY: "s3cret" },
    );
    expect(settings.tracker.provider).toEqual({ api_key: "s3cret", project_slug: "web" });
    expect(settings.secrets).toEqual([{ value: "s3cret", envNames: ["KEYED_API_KEY"] }]);
    expect(warnings).toEqual([]);
  });

  test("a key in both places counts where it belongs, and the other is warned about", () => {
    const { settings, warnings } = loadText(
      dir.path,
      "---\ntracker:\n  kind: keyed\n  api_key: old\n  provider:\n    api_key: new\n---\n",
    );
    expect(settings.tracker.provider).toMatchObject({ api_key: "new" });
    expect(warnings).toEqual([
      `${join(dir.path, "WORKFLOW.md")}:4: tracker.api_key: is ignored, because tracker.provider.api_key is there too; remove one of the two`,
    ]);
  });

  test("the adapter's error keeps its code and gets file and line", () => {
    const text = "---\ntracker:\n  kind: keyed\n  provider:\n    project_slug: web\n    api_key: $UNSET\n---\n";
    const error = appErrorOf(() => loadText(dir.path, text));
    expect(error.code).toBe("missing_tracker_secret");
    expect(error.message).toBe(
      `${join(dir.path, "WORKFLOW.md")}:6: tracker.provider.api_key: the key is missing; set it`,
    );
  });

  test("labels are normalized; a blank required one stays, matches nothing and is warned about", () => {
    const { settings, warnings } = load("  required_labels: [Ready, ' ']\n  excluded_labels: [HOLD, hold, '']");
    expect(settings.tracker).toMatchObject({ requiredLabels: ["ready", ""], excludedLabels: ["hold"] });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("tracker.required_labels: holds a blank label");
  });

  test("a label that is required and excluded is warned about", () => {
    const { warnings } = load("  required_labels: [Ready]\n  excluded_labels: [ready]");
    expect(warnings.join()).toContain('"ready" is also a required label');
  });
});

describe("paths and variables", () => {
  test("paths are relative to the file's folder, wherever the daemon was started", () => {
    const { settings } = load("workspace: {root: spaces}\nstate: {dir: ../state}\nlog: {file: ~/s.log}");
    expect(settings.workspace.root).toBe(join(dir.path, "spaces"));
    expect(settings.state.dir).toBe(join(dir.path, "../state"));
    expect(settings.log.file).toBe("/home/tester/s.log");
  });

  test("without a root, workspaces are in the system's temporary folder", () => {
    expect(load().settings.workspace.root).toBe(join(tmpdir(), "symphony_workspaces"));
  });

  test("variables in paths are replaced, and one without a value is an error that names it", () => {
    expect(load("workspace: {root: $BASE/spaces}", { BASE: "/srv" }).settings.workspace.root).toBe("/srv/spaces");
    const error = appErrorOf(() => load("workspace:\n  root: $BASE/spaces"));
    expect(error.message).toContain('workspace.root: "$BASE/spaces" uses $BASE, which is unset or empty');
  });

  test("a value that is exactly a reference takes the variable's, numbers and flags too", () => {
    const { settings } = load("server: {port: $PORT}\ncodex: {git_writes: $GIT, env: {TOKEN: $TOKEN}}", {
      PORT: "4321",
      GIT: "false",
      TOKEN: "t",
    });
    expect(settings.server.port).toBe(4321);
    expect(settings.codex.gitWrites).toBe(false);
    expect(settings.codex.env).toEqual({ TOKEN: "t" });
  });

  test("an unset or empty variable is a missing value: the default counts, and a warning names the variable", () => {
    const { settings, warnings } = load("polling: {interval_ms: $POLL}", { POLL: "" });
    expect(settings.polling.intervalMs).toBe(30_000);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("polling.interval_ms: $POLL is unset or empty");
  });

  test("a required value from an unset variable is an error that names the variable", () => {
    const error = appErrorOf(() => loadText(dir.path, "---\ntracker: {kind: $KIND}\n---\n"));
    expect(error.message).toContain("tracker.kind: $KIND is unset or empty; export it, or write the value out");
  });

  test("a bad value from a variable is told by the variable's name, never by its content", () => {
    const error = appErrorOf(() => load("polling: {interval_ms: $POLL}", { POLL: "hunter2" }));
    expect(error.message).toContain("polling.interval_ms: $POLL is not a whole number");
    expect(error.message).not.toContain("hunter2");
  });

  test("the environment never overrides what the file says", () => {
    const env = { POLLING_INTERVAL_MS: "1", SYMPHONY_POLLING_INTERVAL_MS: "1", interval_ms: "1" };
    expect(load("polling: {interval_ms: 7}", env).settings.polling.intervalMs).toBe(7);
  });

  test("commands and hooks keep their $NAMEs for the shell", () => {
    const { settings } = load("codex: {command: $AGENT}\nhooks: {before_run: 'echo $HOME'}", { AGENT: "x", HOME: "y" });
    expect(settings.codex.command).toBe("$AGENT");
    expect(settings.hooks.beforeRun).toBe("echo $HOME");
  });

  test("a workspace root that is a file is refused", () => {
    writeFileSync(join(dir.path, "taken"), "");
    const error = appErrorOf(() => load("workspace: {root: taken}"));
    expect(error.code).toBe("invalid_workflow_config");
    expect(error.message).toContain(
      `workspace.root: ${JSON.stringify(join(dir.path, "taken"))} is a file; name a folder`,
    );
    expect(appErrorOf(() => load("workspace: {root: taken/a/b}")).message).toContain(
      `can't be a folder, because ${join(dir.path, "taken")} is a file`,
    );
    mkdirSync(join(dir.path, "folder"));
    expect(load("workspace: {root: folder}").settings.workspace.root).toBe(join(dir.path, "folder"));
  });
});

describe("one error tells everything", () => {
  test("every problem has a line with file, line, key, value and mend, in the file's order", () => {
    const yaml = "polling:\n  interval_ms: soon\nagent:\n  max_turns: 0\nserver:\n  port: 70000";
    const error = appErrorOf(() => load(yaml));
    const path = join(dir.path, "WORKFLOW.md");
    expect(error.code).toBe("invalid_workflow_config");
    expect(error.message.split("\n")).toEqual([
      `${path}:5: polling.interval_ms: "soon" is not a whole number of milliseconds, 1 or more; write one such as 30000`,
      `${path}:7: agent.max_turns: 0 is not a whole number of turns, 1 or more; write one such as 20`,
      `${path}:9: server.port: 70000 is not a TCP port from 0 to 65535; write one such as 8080`,
    ]);
    expect(error.data["problems"]).toHaveLength(3);
  });

  test("the adapter's problem joins the others", () => {
    const error = appErrorOf(() => loadText(dir.path, "---\ntracker: {kind: keyed}\nworkspace: {root: $X/y}\n---\n"));
    expect(error.code).toBe("invalid_workflow_config");
    expect(error.message.split("\n")).toHaveLength(2);
    expect(error.message).toContain("tracker.provider.api_key");
  });
});
