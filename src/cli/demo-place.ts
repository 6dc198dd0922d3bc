/** Where a demo lies: a temporary folder that goes away, or a kept one in which the next `demo --keep` goes on. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { execa } from "execa";
import { simulatedAgentCommand } from "../agent/simulated/command.ts";
import { AppError, errorMessage } from "../domain/errors.ts";
import { lockDaemon } from "../ledger/lock.ts";
import { stateFiles } from "../ledger/state-files.ts";
import { homeDirOf } from "../workflow/paths.ts";
import { DEMO_FILES, DEMO_TICKETS, demoLayout, ticketFile, workflowFile, type DemoLayout } from "./demo-board.ts";
import { demoScript } from "./demo-script.ts";
import { plainLine } from "./terminal-text.ts";

/** Tells a demo's folder from anybody else's, which is never touched. Written last, so it also says that the folder is whole. */
const MARKER = ".symphony-demo";
const PRIVATE = 0o700;

type Environment = Readonly<Record<string, string | undefined>>;

/** A demo that is ready to be worked on. */
export interface DemoPlace {
  readonly layout: DemoLayout;
  /** An earlier demo's folder, which goes on where it was. */
  readonly resumed: boolean;
  /** Where a finished earlier demo was moved to; null when there was none. */
  readonly previous: string | null;
}

/** The folder of `demo --keep` when none is named. A relative variable counts as unset, as XDG wants it. */
export function keptDemoDirectory(env: Environment): string {
  const stateHome = env["XDG_STATE_HOME"] ?? "";
  const base = isAbsolute(stateHome) ? stateHome : join(homeDirOf(env), ".local", "state");
  return join(base, "symphony", "demo");
}

/** What went wrong while a demo was made, and what to do about it. */
function cantMake(dir: string, error: unknown, mend: string): unknown {
  if (error instanceof AppError) return error;
  const message = `making the demo in ${dir} failed: ${plainLine(errorMessage(error))}; ${mend}`;
  return new AppError("usage", message, { dir }, { cause: error });
}

/** Makes a new demo in the system's temporary folder. */
export async function makeTemporaryDemo(now: number): Promise<DemoPlace> {
  let dir: string | null = null;
  try {
    dir = await mkdtemp(join(await realpath(tmpdir()), "symphony-demo-"));
    await build(demoLayout(dir), now);
    return { layout: demoLayout(dir), resumed: false, previous: null };
  } catch (error) {
    if (dir !== null) await removeDemo(dir);
    throw cantMake(tmpdir(), error, "set TMPDIR to a folder that can be written");
  }
}

/**
 * Opens the demo at `dir`, or makes one there. `isFinished` looks at an earlier one: when all of it is done it moves aside, to
 * `<dir>.previous`, and a new one is made. Throws AppError for a folder that is no demo's, or whose daemon runs.
 */
export async function openKeptDemo(
  dir: string,
  now: number,
  isFinished: (layout: DemoLayout) => Promise<boolean>,
): Promise<DemoPlace> {
  const layout = demoLayout(resolve(dir));
  const there = await readdir(layout.dir).catch(() => []);
  if (existsSync(join(layout.dir, MARKER))) {
    if (!(await isFinished(layout))) return { layout, resumed: true, previous: null };
    const previous = await moveAside(layout);
    await buildBeside(layout, now);
    return { layout, resumed: false, previous };
  }
  if (there.length > 0) {
    throw new AppError("usage", `${layout.dir} is not empty and no demo's folder; name another with --dir`, {
      dir: layout.dir,
    });
  }
  await buildBeside(layout, now);
  return { layout, resumed: false, previous: null };
}

/** Holding the lock proves that no daemon works there. */
async function moveAside(layout: DemoLayout): Promise<string> {
  const previous = `${layout.dir}.previous`;
  using locks = new DisposableStack();
  locks.use(lockDaemon(stateFiles(layout.state), layout.workflow));
  await removeDemo(previous);
  await rename(layout.dir, previous);
  return previous;
}

/** A demo stands at its place whole or not at all, whenever this is cut off. */
async function buildBeside(layout: DemoLayout, now: number): Promise<void> {
  const draft = `${layout.dir}.new`;
  try {
    await mkdir(dirname(layout.dir), { recursive: true, mode: PRIVATE });
    await removeDemo(draft);
    await mkdir(draft, { mode: PRIVATE });
    await build(demoLayout(draft), now, layout);
    await rename(draft, layout.dir);
  } catch (error) {
    await removeDemo(draft).catch(() => undefined);
    throw cantMake(layout.dir, error, "name another folder with --dir");
  }
}

/** Writes everything into `layout`; `final` is where it will lie. */
async function build(layout: DemoLayout, now: number, final: DemoLayout = layout): Promise<void> {
  await mkdir(layout.board);
  await mkdir(layout.agentHome, { recursive: true });
  await writeFile(layout.script, `${JSON.stringify(demoScript(), null, 2)}\n`);
  const command = simulatedAgentCommand({ script: final.script, home: final.agentHome });
  await writeFile(layout.workflow, workflowFile(command));
  await Promise.all(
    DEMO_TICKETS.map((ticket, index) => {
      // A minute apart, in the order of their numbers.
      const createdAt = new Date(now - (DEMO_TICKETS.length - index) * 60_000).toISOString();
      return writeFile(join(layout.board, `${ticket.identifier}.md`), ticketFile(ticket, createdAt));
    }),
  );
  await makeRepository(layout.repository);
  await writeFile(
    join(layout.dir, MARKER),
    "A folder of `symphony demo`. It may be removed when no demo runs in it.\n",
  );
}

/** What git must not hear of: variables as a git hook sets them, and the user's own settings (signing, hooks, templates). */
export function environmentWithoutGit(env: Environment): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
  return { ...Object.fromEntries(others), GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
}

const IDENTITY = ["-c", "user.name=Symphony demo", "-c", "user.email=demo@demo.invalid"];

async function makeRepository(path: string): Promise<void> {
  await mkdir(path);
  for (const [name, content] of Object.entries(DEMO_FILES)) await writeFile(join(path, name), content);
  const git = execa({ cwd: path, env: environmentWithoutGit(process.env), extendEnv: false, stdin: "ignore" });
  try {
    await git`git init --quiet --initial-branch=main`;
    // Nothing to tidy up after six pushes.
    await git`git config receive.autogc false`;
    await git`git add --all`;
    await git`git ${IDENTITY} commit --quiet --message ${"A program that greets"}`;
  } catch (error) {
    throw new AppError(
      "usage",
      `making the demo's git repository failed: ${plainLine(errorMessage(error))}; the demo needs git 2.28 or newer`,
      { path },
      { cause: error },
    );
  }
}

/** Removes a demo's folder, if there is one. */
export async function removeDemo(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes all but the ledger. Nobody may have it open: its write-ahead log is empty then, and only left by a reader. */
export async function keepLedgerOnly(layout: DemoLayout): Promise<void> {
  const { ledger } = stateFiles(layout.state);
  const below = async (dir: string): Promise<readonly string[]> => (await readdir(dir)).map((name) => join(dir, name));
  const paths = [...(await below(layout.dir)), ...(await below(layout.state))];
  await Promise.all(paths.filter((path) => path !== layout.state && path !== ledger).map(removeDemo));
}
