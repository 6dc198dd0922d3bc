/** What README.md and the guides tell people to do, done: their commands run, their links lead somewhere, their tables agree. */
import { existsSync } from "node:fs";
import { chmod, glob, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { simulatedAgentCommand } from "../../src/agent/simulated/command.ts";
import { runProgram } from "../support/program.ts";
import { until } from "../support/until.ts";
import { makeSurroundings, processesBelow, type Surroundings } from "./command-line.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const README = await readFile(join(ROOT, "README.md"), "utf8");
const SETTINGS = await readFile(join(ROOT, "docs/settings.md"), "utf8");

/** The text below a heading, up to the next one of any level. */
function section(text: string, heading: string): string {
  const start = text.indexOf(`${heading}\n`);
  if (start === -1) throw new Error(`no heading ${heading}`);
  const rest = text.slice(start + heading.length);
  const end = rest.search(/\n#{1,6} /);
  return end === -1 ? rest : rest.slice(0, end);
}

/** Shell blocks of a text, in order. */
function shellBlocks(text: string): readonly string[] {
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, code]) => code ?? "");
}

/** Rows of the tables of a text: cells without code marks. */
function tableRows(text: string): readonly (readonly string[])[] {
  const lines = text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| ---"));
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("`", "").replaceAll("\\|", "|")),
  );
}

/** A `codex` on the PATH that is the simulated agent, for lack of an account. */
async function installCodex(user: Surroundings): Promise<Readonly<Record<string, string>>> {
  const bin = join(user.root, "bin");
  await mkdir(bin);
  const agent = simulatedAgentCommand({ home: join(user.root, "agent-home") });
  await writeFile(join(bin, "codex"), `#!/bin/sh\n[ "$1" = app-server ] || exit 2\n${agent}\n`);
  await chmod(join(bin, "codex"), 0o755);
  const path = [bin, join(ROOT, "node_modules/.bin"), process.env["PATH"]].join(":");
  return { PATH: path, HOME: user.home, TMPDIR: user.tmp, npm_config_update_notifier: "false" };
}

test(
  "the path to a local board is walked as it is written, and ends with the ticket Done",
  { timeout: 90_000 },
  async () => {
    await using user = await makeSurroundings();
    const env = await installCodex(user);
    const [start = "", look = ""] = shellBlocks(section(README, "### A folder of Markdown files"));
    const shell = { cwd: ROOT, env, extendEnv: false, reject: false, stdin: "ignore" } as const;

    const daemon = execa("bash", ["-euc", start], { ...shell, forceKillAfterDelay: 10_000 });
    try {
      const ticket = join(user.home, "symphony-board/board/TASK-1.md");
      await until(
        "the ticket is Done",
        async () => (await readFile(ticket, "utf8").catch(() => "")).includes("state: Done"),
        60_000,
      );
      const reports = await execa("bash", ["-euc", look], shell);
      expect(reports).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/TASK-1[^]*ISSUE[^]*TASK-1[^]*total/),
      });
      expect(existsSync(join(user.home, "symphony-board/workspaces/TASK-1"))).toBe(true);
    } finally {
      daemon.kill("SIGTERM");
      await daemon;
    }
    await until("nothing of it runs any more", () => processesBelow(user.root).length === 0);
  },
);

describe("the README", () => {
  test("names only npm scripts that there are", async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = [...README.matchAll(/npm (?:run (?:-s )?(\w+(?::\w+)?)|(test))\b/g)].map(
      ([, script, other]) => script ?? other ?? "",
    );
    expect(named).toEqual(expect.arrayContaining(["demo", "test", "symphony"]));
    expect(named.filter((name) => !(name in manifest.scripts))).toEqual([]);
  });

  test("copies only files that there are", () => {
    const copied = [...README.matchAll(/\bcp (\S+) /g)].map(([, path]) => path ?? "");
    expect(copied).toEqual(["workflows/local.md"]);
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test("shows commands and options that the program knows", async () => {
    await using user = await makeSurroundings();
    const rows = tableRows(section(README, "## Commands"))
      .map(([line = ""]) => line)
      .filter((line) => line.startsWith("symphony"));
    expect(rows.length).toBeGreaterThanOrEqual(7);
    // A row may name several commands, each with its own options; `ledger check` is a command of a command.
    for (const [, name = "", rest = ""] of rows.flatMap((row) => [
      ...row.matchAll(/(?:^|, )(?:symphony )?([a-z]*(?: check| prune| backup)?)([^,]*)/g),
    ])) {
      const { code, stdout } = await runProgram(user, [...name.split(" ").filter((word) => word !== ""), "--help"]);
      expect([name, code]).toEqual([name, 0]);
      for (const [option] of rest.matchAll(/--[a-z-]+/g)) expect(stdout).toContain(option);
    }
  });

  test("gives the settings as the page of all settings does", () => {
    const all = new Map(tableRows(SETTINGS).map(([key = "", value = ""]) => [key, value]));
    const shown = tableRows(section(README, "## Settings")).slice(1);
    expect(shown.length).toBeGreaterThan(10);
    for (const [key = "", value = ""] of shown) expect([key, all.get(key)]).toEqual([key, value]);
  });
});

test("every link between the pages of the project leads to a file", async () => {
  const pages: string[] = [];
  for await (const page of glob(["*.md", "docs/**/*.md"], { cwd: ROOT })) pages.push(page);
  expect(pages).toContain("docs/operating.md");
  const broken: string[] = [];
  for (const page of pages) {
    const text = await readFile(join(ROOT, page), "utf8");
    const targets = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(
      ([, target]) => target ?? "",
    );
    broken.push(
      ...targets
        .filter((target) => !existsSync(resolve(ROOT, dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    );
  }
  expect(broken).toEqual([]);
});
