/** Completion scripts: bash's as bash itself uses it, the others by their words. */
import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../../test/support/program.ts";

async function script(shell: string): Promise<string> {
  const here = process.cwd();
  const { code, stdout } = await runProgram({ dir: here, home: here, tmp: here }, ["completion", shell]);
  expect(code).toBe(0);
  return stdout;
}

describe("in bash", () => {
  let bash: string;

  beforeAll(async () => {
    bash = await script("bash");
  });

  /** What Tab offers after these words; the last one is the one being typed. */
  function offered(...words: readonly string[]): readonly string[] {
    const use = `COMP_WORDS=(symphony "$@"); COMP_CWORD=$#; _symphony; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync("bash", ["--norc", "-c", `${bash}\n${use}`, "bash", ...words], { encoding: "utf8" });
    return out.split("\n").filter((line) => line !== "");
  }

  it.each<[words: readonly string[], offers: readonly string[]]>([
    [["expl"], ["explain"]],
    [["dr"], ["drain"]],
    [
      ["drain", "--w"],
      ["--workflow", "--wait"],
    ],
    [
      ["usage", "--by", ""],
      ["issue", "day"],
    ],
    [["ledger", "ch"], ["check"]],
    [["ledger", "prune", "--ol"], ["--older-than"]],
    [["status", "-w", "package.j"], ["package.json"]],
    [["work", "ENG-1", "package.j"], ["package.json"]],
    [["steer", "ENG-1", "stat"], []],
  ])("%j offers %j", (words, offers) => {
    expect(offered(...words).toSorted()).toEqual(offers.toSorted());
  });
});

it("knows every command in zsh and fish as in bash", async () => {
  const [bash, zsh, fish] = [await script("bash"), await script("zsh"), await script("fish")];
  const names =
    /^ {4}""\) words="([^"]*)"/m
      .exec(bash)?.[1]
      ?.split(" ")
      .filter((word) => !word.startsWith("-")) ?? [];
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    expect(zsh).toContain(`'${name}:`);
    expect(fish).toContain(` -a ${name} -d `);
  }
  expect(zsh).toMatch(/^#compdef symphony\n/);
});

it("says which shells it knows", async () => {
  const here = process.cwd();
  const { code, stderr } = await runProgram({ dir: here, home: here, tmp: here }, ["completion", "csh"]);
  expect(code).toBe(2);
  expect(stderr).toContain("bash, zsh, fish");
});
