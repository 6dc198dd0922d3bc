/** The hooks of the shipped workflow files do what the files say: on a real repository, with stand-ins for `gh` and `npm`. */
import { appendFile, chmod, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { trackerDescriptors } from "../../src/tracker/registry.ts";
import { loadWorkflow, type LoadedWorkflow } from "../../src/workflow/load.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const root = new URL("../../", import.meta.url).pathname;
const dir = await makeTempDir();
afterAll(() => dir.dispose());

const origin = join(dir.path, "origin.git");
const bin = join(dir.path, "bin");
const hostileTitle = 'Mend $(touch pwned) `touch pwned` "it" \'';
const PUBLISHING = [
  "WORKFLOW.example.md",
  "workflows/pull-request.md",
  "workflows/dependencies.md",
  "workflows/documentation.md",
];

/** Keeps its calls, one a line, and knows of a pull request once it was told to create one. */
const GH = `#!/bin/sh
printf '%s\\n' "$*" >> "$HOME/gh.log"
[ "$2" = list ] && grep -c 'pr create' "$HOME/gh.log"
exit 0
`;

/** Updates a lock file; says, as npm does, by its exit code that something newer exists. */
const NPM = `#!/bin/sh
case "$*" in *--ignore-scripts*) ;; "outdated --json") echo '{}'; exit 1 ;; *) exit 9 ;; esac
if [ "$1" = update ]; then echo updated > package-lock.json; fi
`;

beforeAll(async () => {
  await mkdir(bin);
  for (const [name, text] of [
    ["gh", GH],
    ["npm", NPM],
  ] as const) {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  }
  const author = "[user]\n  name = Test\n  email = test@example.com\n[init]\n  defaultBranch = main\n";
  await writeFile(join(dir.path, "gitconfig"), author);
  const seed = join(dir.path, "seed");
  await execa("git", ["init", "--quiet", seed], { env: gitEnv });
  await writeFile(join(seed, "package-lock.json"), "old\n");
  await execa("git", ["add", "."], { cwd: seed, env: gitEnv });
  await execa("git", ["commit", "--quiet", "--message", "Begin"], { cwd: seed, env: gitEnv });
  await execa("git", ["clone", "--quiet", "--bare", seed, origin], { env: gitEnv });
});

const gitEnv = { GIT_CONFIG_GLOBAL: join(dir.path, "gitconfig"), GIT_CONFIG_NOSYSTEM: "1" };

/** One workflow file at work on one ticket, in a home of its own. */
class Ticket {
  readonly #name: string;
  readonly #home: string;
  readonly #file: LoadedWorkflow;
  readonly workspace: string;

  constructor(file: string, name: string) {
    this.#name = name;
    this.#home = join(dir.path, `home-${name}`);
    this.workspace = join(this.#home, "workspace");
    const env = { LINEAR_API_KEY: "lin_api_example", HOME: this.#home };
    this.#file = loadWorkflow(join(root, file), { descriptors: trackerDescriptors, env });
  }

  get branch(): string {
    return `symphony/${this.#name}`;
  }

  async start(): Promise<void> {
    await mkdir(this.workspace, { recursive: true });
    await this.#run(this.#file.settings.hooks.afterCreate);
  }

  beforeRun(): Promise<void> {
    return this.#run(this.#file.settings.hooks.beforeRun);
  }

  afterRun(): Promise<void> {
    return this.#run(this.#file.settings.hooks.afterRun);
  }

  git(...args: string[]): Promise<string> {
    return this.#git(this.workspace, args);
  }

  async commit(name: string): Promise<void> {
    await writeFile(join(this.workspace, name), name);
    await this.git("add", name);
    await this.git("commit", "--quiet", "--no-verify", "--message", name);
  }

  /** Subjects of what was published, the newest first, without the one that was there before. */
  async published(): Promise<readonly string[]> {
    const log = await this.#git(origin, ["log", "--format=%s", this.branch, "--not", "main", "--"]).catch(() => "");
    return log.split("\n").filter((line) => line !== "");
  }

  async pullRequests(): Promise<readonly string[]> {
    const log = await readFile(join(this.#home, "gh.log"), "utf8").catch(() => "");
    return log.split("\n").filter((line) => line.startsWith("pr create"));
  }

  async #git(cwd: string, args: readonly string[]): Promise<string> {
    return (await execa("git", args, { cwd, env: gitEnv })).stdout;
  }

  /** `bash -c`: a login profile of this machine could put another PATH in front of the stand-ins. */
  async #run(script: string | null): Promise<void> {
    const local = (script ?? "exit 9").replaceAll("git@github.com:your-org/your-repository.git", origin);
    const env = {
      ...gitEnv,
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      HOME: this.#home,
      SYMPHONY_WORKSPACE: this.workspace,
      SYMPHONY_ISSUE_IDENTIFIER: this.#name,
      SYMPHONY_ISSUE_TITLE: hostileTitle,
      SYMPHONY_ISSUE_URL: `https://linear.app/x/issue/${this.#name}`,
    };
    await execa("bash", ["-c", local], { cwd: this.workspace, env });
  }
}

test.each(PUBLISHING)(
  "%s: a clone on the issue's own branch, published once there is work, with one pull request",
  async (file) => {
    const ticket = new Ticket(file, `ENG-${PUBLISHING.indexOf(file)}`);
    const { branch } = ticket;
    const isUpdate = file.endsWith("dependencies.md");
    const updates = isUpdate ? ["Update dependencies within their ranges"] : [];
    await ticket.start();
    await ticket.beforeRun();
    expect(await ticket.git("branch", "--show-current")).toBe(branch);
    await ticket.afterRun();
    expect(await ticket.published()).toEqual(updates);

    await ticket.commit("one.md");
    await ticket.afterRun();
    expect(await ticket.published()).toEqual(["one.md", ...updates]);
    const title = `${branch.slice("symphony/".length)}: ${hostileTitle}`;
    const url = `https://linear.app/x/issue/${branch.slice("symphony/".length)}`;
    const created = `pr create --repo your-org/your-repository --head ${branch} --title ${title} --body ${url}`;
    expect(await ticket.pullRequests()).toEqual([created]);

    // Rework: the branch is rewritten.
    await ticket.beforeRun();
    await ticket.git("commit", "--quiet", "--amend", "--no-verify", "--message", "one, better");
    await ticket.afterRun();
    expect(await ticket.published()).toEqual(["one, better", ...updates]);
    expect(await ticket.pullRequests()).toHaveLength(1);
    expect(await readdir(ticket.workspace)).not.toContain("pwned");
  },
);

test.each(PUBLISHING)("%s: nothing that the agent wrote into its clone's .git is run by a hook", async (file) => {
  const ticket = new Ticket(file, `EVIL-${PUBLISHING.indexOf(file)}`);
  await ticket.start();
  await ticket.commit("one.md");
  const pwned = join(ticket.workspace, "pwned");
  const trap = join(ticket.workspace, ".git", "trap");
  await writeFile(trap, `#!/bin/sh\ntouch ${pwned}\nexit 1\n`);
  await chmod(trap, 0o755);
  const settings = [
    ["core", "fsmonitor", "sshCommand", "pager"],
    ["diff", "external"],
    ['remote "origin"', "uploadpack"],
    ["uploadpack", "packObjectsHook"],
  ] as const;
  const lines = settings.map(([section, ...keys]) => {
    return `[${section}]\n${keys.map((key) => `  ${key} = ${trap}\n`).join("")}`;
  });
  await appendFile(join(ticket.workspace, ".git", "config"), lines.join(""));
  expect(await ticket.git("config", "uploadpack.packObjectsHook")).toBe(trap);
  for (const name of ["pre-push", "reference-transaction", "post-checkout", "pre-auto-gc"]) {
    const hook = join(ticket.workspace, ".git", "hooks", name);
    await writeFile(hook, await readFile(trap));
    await chmod(hook, 0o755);
  }
  await ticket.beforeRun();
  await ticket.afterRun();
  expect(await ticket.published()).toContain("one.md");
  expect(await readdir(ticket.workspace)).not.toContain("pwned");
});

test("documentation.md publishes nothing of a branch that changes more than documentation", async () => {
  const ticket = new Ticket("workflows/documentation.md", "DOC-1");
  await ticket.start();
  await ticket.commit("page.md");
  await ticket.commit("code.ts");
  await expect(ticket.afterRun()).rejects.toThrow(/no documentation: code\.ts/);
  expect(await ticket.published()).toEqual([]);
});

test("what somebody else has pushed to the issue's branch meanwhile is not overwritten", async () => {
  const ticket = new Ticket("WORKFLOW.example.md", "ENG-9");
  await ticket.start();
  await ticket.commit("one.md");
  await ticket.afterRun();
  const other = join(dir.path, "other");
  await execa("git", ["clone", "--quiet", "--branch", ticket.branch, origin, other], { env: gitEnv });
  await execa("git", ["commit", "--quiet", "--allow-empty", "--message", "theirs"], { cwd: other, env: gitEnv });
  await execa("git", ["push", "--quiet"], { cwd: other, env: gitEnv });
  await ticket.commit("two.md");
  await expect(ticket.afterRun()).rejects.toThrow(/stale info/);
  expect(await ticket.published()).toEqual(["theirs", "one.md"]);
});
