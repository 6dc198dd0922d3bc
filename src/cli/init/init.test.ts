/** `symphony init`: what it writes is a workflow that loads, and nothing that was there is lost. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startLinearServer } from "../../../test/fakes/linear/server.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { trackerDescriptors } from "../../tracker/registry.ts";
import { loadWorkflow } from "../../workflow/load.ts";
import { init, type InitOptions } from "./init.ts";

let dir: TempDir;
let file: string;
let output: string;

beforeEach(async () => {
  dir = await makeTempDir();
  file = join(dir.path, "new", "WORKFLOW.md");
  output = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    output += String(text);
    return true;
  });
});
afterEach(() => dir.dispose());

const ENDPOINT = "https://api.linear.app/graphql";

function options(more: Partial<InitOptions> = {}): InitOptions {
  return { file, tracker: null, project: null, repository: null, endpoint: ENDPOINT, env: {}, ask: null, ...more };
}

function load(): ReturnType<typeof loadWorkflow> {
  return loadWorkflow(file, {
    descriptors: trackerDescriptors,
    env: { LINEAR_API_KEY: "lin_api_example", HOME: dir.path },
  });
}

/** Answers in their order; a question too many fails the test. */
function person(...answers: readonly string[]): { ask: (question: string) => Promise<string>; questions: string[] } {
  const left = [...answers];
  const questions: string[] = [];
  return {
    questions,
    ask(question) {
      questions.push(question);
      const answer = left.shift();
      return answer === undefined ? Promise.reject(new Error(`unexpected: ${question}`)) : Promise.resolve(answer);
    },
  };
}

describe("symphony init", () => {
  it("writes a local board's workflow and makes the board, and says what comes next", async () => {
    expect(await init(options({ tracker: "local" }))).toBe(0);
    const { settings, warnings } = load();
    expect([settings.tracker.kind, warnings]).toEqual(["local", []]);
    expect(output).toContain(`wrote ${file} and ${join(dir.path, "new", "board")}`);
    expect(output).toContain(`symphony doctor ${file}`);
    expect(output).not.toContain("CHANGE");
  });

  it("writes project and repository into the places of the placeholders, everywhere", async () => {
    const repository = "git@git.example.com:team/some.thing.git";
    await init(options({ project: "app-0123", repository }));
    const text = await readFile(file, "utf8");
    expect(text).not.toMatch(/your-org|your-project|CHANGE/);
    expect(text).toContain("repository=team/some.thing\n");
    expect(text.match(/mirror=~\/\.cache\/symphony\/some\.thing\.git/g)).toHaveLength(3);
    const { settings } = load();
    expect(settings.tracker.provider).toMatchObject({ scope: { projectSlug: "app-0123" } });
    expect(settings.hooks.afterCreate).toContain(`git clone --quiet --bare ${repository} `);
  });

  it("asks for what no flag gives, with the projects that the key can see", async () => {
    const server = await startLinearServer();
    try {
      const { ask, questions } = person("both", "linear", "99", "1", "https://github.com/org/name");
      await init(options({ endpoint: server.url, env: { LINEAR_API_KEY: server.apiKey }, ask }));
      expect(questions).toHaveLength(5);
      expect(output).toMatch(/^ {2}1 {2}.+\(demo\)$/m);
      expect(load().settings.tracker.provider).toMatchObject({ scope: { projectSlug: "demo" } });
      expect(await readFile(file, "utf8")).toContain("repository=org/name\n");
    } finally {
      await server.close();
    }
  });

  it("leaves the repository's lines marked where none is given, and says so", async () => {
    const { ask } = person("");
    await new Promise((done) => execFile("git", ["init", "--quiet", dir.path], done));
    vi.spyOn(process, "cwd").mockReturnValue(dir.path);
    await init(options({ project: "app-0123", ask }));
    expect(output).toMatch(/change the \d lines that are marked CHANGE/);
  });

  it.each([
    [{}, "--tracker local or --tracker linear"],
    [{ tracker: "linear" }, "--project"],
    [{ project: "a b", repository: "/x" }, "is no slug"],
    [{ project: "a", repository: "x; rm -rf /" }, "is no address"],
  ] as const)("with %j and nobody to ask it says what is missing, and writes nothing", async (given, words) => {
    await expect(init(options(given))).rejects.toThrow(words);
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });

  it("overwrites nothing", async () => {
    file = join(dir.path, "WORKFLOW.md");
    await writeFile(file, "mine");
    await expect(init(options({ tracker: "local" }))).rejects.toThrow("nothing is overwritten");
    expect(await readFile(file, "utf8")).toBe("mine");
  });
});
