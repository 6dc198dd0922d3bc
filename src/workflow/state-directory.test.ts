/** Where a workflow's state is kept. */
import { mkdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { makeTempDir } from "../../test/support/temp-dir.ts";
import { writeWorkflow } from "../../test/support/workflow-files.ts";
import { findStateDirectory, stateDirectory, workflowKey } from "./state-directory.ts";

const dir = await makeTempDir();
afterAll(() => dir.dispose());

const project = join(dir.path, "my project");
const workflowPath = join(project, "WORKFLOW.md");
beforeAll(() => {
  mkdirSync(project);
});

const owner = { workflowPath, state: { dir: null } };
const env = { HOME: "/home/me", XDG_STATE_HOME: "/xdg", STATE_DIRECTORY: "/var/lib/symphony" };

describe("the first that is set counts", () => {
  test("--state-dir, relative to the current directory", () => {
    const set = { workflowPath, state: { dir: "/set" } };
    expect(stateDirectory(set, { flag: "here", env })).toBe(join(process.cwd(), "here"));
  });

  test("then state.dir", () => {
    expect(stateDirectory({ workflowPath, state: { dir: "/set" } }, { flag: null, env })).toBe("/set");
  });

  test("then $STATE_DIRECTORY, the first of several", () => {
    expect(stateDirectory(owner, { flag: null, env })).toBe("/var/lib/symphony");
    const several = { ...env, STATE_DIRECTORY: "/var/lib/a:/var/lib/b" };
    expect(stateDirectory(owner, { flag: null, env: several })).toBe("/var/lib/a");
  });

  test("then a folder of the workflow's own under $XDG_STATE_HOME, then under ~/.local/state", () => {
    const key = workflowKey(workflowPath);
    const xdg = { HOME: "/home/me", XDG_STATE_HOME: "/xdg" };
    expect(stateDirectory(owner, { flag: null, env: xdg })).toBe(`/xdg/symphony/${key}`);
    expect(stateDirectory(owner, { flag: null, env: { HOME: "/home/me" } })).toBe(
      `/home/me/.local/state/symphony/${key}`,
    );
    expect(stateDirectory(owner, { flag: null, env: {} })).toBe(join(homedir(), ".local/state/symphony", key));
  });

  test("empty and relative variables count as unset", () => {
    const odd = { HOME: "/home/me", XDG_STATE_HOME: "state", STATE_DIRECTORY: "" };
    expect(stateDirectory(owner, { flag: null, env: odd })).toMatch(/^\/home\/me\/\.local\/state\/symphony\//);
  });
});

describe("the key of a workflow", () => {
  test("it can be read, and holds nothing that a path could trip over", () => {
    expect(workflowKey(workflowPath)).toMatch(/^my_project-[0-9a-f]{12}$/);
    expect(workflowKey(join(project, "Nightly Ü.md"))).toMatch(/^my_project-Nightly_-[0-9a-f]{12}$/);
    expect(workflowKey(`/${"x".repeat(200)}/WORKFLOW.md`)).toMatch(/^x{40}-[0-9a-f]{12}$/);
    expect(workflowKey("/WORKFLOW.md")).toMatch(/^[0-9a-f]{12}$/);
  });

  test("another file or another folder is another key", () => {
    const keys = ["/a/WORKFLOW.md", "/b/WORKFLOW.md", "/a/workflow.md", "/a/other.md", "/x/a/WORKFLOW.md"].map(
      workflowKey,
    );
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("two ways to one folder are one key", () => {
    const link = join(dir.path, "link");
    symlinkSync(project, link);
    expect(workflowKey(join(link, "WORKFLOW.md"))).toBe(workflowKey(workflowPath));
    expect(workflowKey(join(project, "..", "my project", "WORKFLOW.md"))).toBe(workflowKey(workflowPath));
  });
});

describe("commands that only look", () => {
  test("they find state.dir in a file that would not load", () => {
    const broken = "---\ntracker: {kind: linear}\nstate: {dir: ./state}\npolling: {interval_ms: never}\n---\n{{ nope";
    writeWorkflow(project, broken);
    expect(findStateDirectory(workflowPath, { flag: null, env })).toBe(join(project, "state"));
  });

  test("they resolve variables in it", () => {
    writeWorkflow(project, "---\nstate: {dir: $WHERE}\n---\n");
    expect(findStateDirectory(workflowPath, { flag: null, env: { ...env, WHERE: "/there" } })).toBe("/there");
    expect(findStateDirectory(workflowPath, { flag: null, env })).toBe("/var/lib/symphony");
    writeWorkflow(project, "---\nstate: {dir: $WHERE/x}\n---\n");
    expect(findStateDirectory(workflowPath, { flag: null, env })).toBe("/var/lib/symphony");
  });

  test("without a readable file they look where the daemon would be by default", () => {
    writeWorkflow(project, "---\nstate: [\n---\n");
    const fallback = stateDirectory(owner, { flag: null, env });
    expect(findStateDirectory(workflowPath, { flag: null, env })).toBe(fallback);
    expect(findStateDirectory(join(project, "nowhere.md"), { flag: "/flag", env })).toBe("/flag");
  });
});
