import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { writableGitDirs } from "./git-dirs.ts";

const run = promisify(execFile);
let dir: TempDir;

beforeEach(async () => {
  dir = await makeTempDir();
});

afterEach(() => dir.dispose());

function at(...names: readonly string[]): string {
  return join(dir.path, ...names);
}

async function git(cwd: string, ...args: readonly string[]): Promise<void> {
  await run("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", "-C", cwd, ...args]);
}

async function repository(path: string): Promise<string> {
  await mkdir(path, { recursive: true });
  await git(path, "init", "--quiet");
  await git(path, "commit", "--quiet", "--allow-empty", "--message", "one");
  return path;
}

async function gitDirs(workspacePath: string): Promise<readonly string[]> {
  return writableGitDirs(workspacePath);
}

describe("the git directories that an agent may write", () => {
  it("are the clone's own", async () => {
    const workspace = await repository(at("work"));
    expect(await gitDirs(workspace)).toEqual([join(workspace, ".git")]);
  });

  it("are both of a linked worktree's", async () => {
    const main = await repository(at("main"));
    await git(main, "worktree", "add", "--quiet", at("tree"));
    expect(await gitDirs(at("tree"))).toEqual([join(main, ".git"), join(main, ".git", "worktrees", "tree")]);
  });

  it("are found through a link to the workspace, whatever the login profile prints", async () => {
    const workspace = await repository(at("work"));
    await symlink(workspace, at("link"));
    await writeFile(at(".bash_profile"), "echo symphony-git; echo noise; printf 'symphony-git-top'\n");
    expect(await gitDirs(at("link"))).toEqual([join(workspace, ".git")]);
  });

  it("are none where there is no repository", async () => {
    await mkdir(at("empty"));
    expect(await gitDirs(at("empty"))).toEqual([]);
  });

  it("are never those of a repository around the workspace", async () => {
    const outer = await repository(at("outer"));
    await mkdir(join(outer, "ticket"));
    expect(await gitDirs(join(outer, "ticket"))).toEqual([]);
  });

  it("are never another repository's that a planted .git points to", async () => {
    const victim = await repository(at("victim"));
    await mkdir(at("by-file"));
    await writeFile(at("by-file", ".git"), `gitdir: ${join(victim, ".git")}\n`);
    expect(await gitDirs(at("by-file"))).toEqual([]);
    await mkdir(at("by-link"));
    await symlink(join(victim, ".git"), at("by-link", ".git"));
    expect(await gitDirs(at("by-link"))).toEqual([]);
    const workspace = await repository(at("by-commondir"));
    await writeFile(join(workspace, ".git", "commondir"), `${join(victim, ".git")}\n`);
    expect(await gitDirs(workspace)).toEqual([]);
  });

  it("are never reached through a worktree entry that the workspace itself holds", async () => {
    const victim = await repository(at("victim"));
    const entry = at("work", "fake", "worktrees", "x");
    await mkdir(entry, { recursive: true });
    await writeFile(at("work", ".git"), `gitdir: ${entry}\n`);
    await writeFile(join(entry, "HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(entry, "commondir"), `${join(victim, ".git")}\n`);
    await writeFile(join(entry, "gitdir"), `${at("work", ".git")}\n`);
    expect(await gitDirs(at("work"))).toEqual([]);
  });

  it("run no program of the repository's choosing while they are looked for", async () => {
    const workspace = await repository(at("work"));
    await git(workspace, "config", "core.fsmonitor", `touch ${at("ran")}; false`);
    await git(workspace, "config", "core.hooksPath", at("hooks"));
    expect(await gitDirs(workspace)).toEqual([join(workspace, ".git")]);
    expect(existsSync(at("ran"))).toBe(false);
  });
});
