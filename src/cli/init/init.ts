/** `symphony init`: a few questions, or a flag for each, and a WORKFLOW.md that can be started. Nothing is overwritten. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { execa } from "execa";
import { AppError, errorMessage } from "../../domain/errors.ts";
import { systemClock } from "../../lib/clock.ts";
import { listProjects, type LinearProject } from "../../tracker/linear/projects.ts";
import { trackerDescriptors } from "../../tracker/registry.ts";
import { loadWorkflow } from "../../workflow/load.ts";
import { printLines } from "../output.ts";
import { plainLine } from "../terminal-text.ts";
import { workflowText, type Choice } from "./workflow-text.ts";

export interface InitOptions {
  /** Where to write. */
  readonly file: string;
  readonly tracker: "local" | "linear" | null;
  readonly project: string | null;
  readonly repository: string | null;
  readonly endpoint: string;
  readonly env: NodeJS.ProcessEnv;
  /** Puts a question to the person; null where nobody is there to ask. */
  readonly ask: ((question: string) => Promise<string>) | null;
}

/** Throws an AppError that says which flag is missing where nobody can be asked. */
export async function init(options: InitOptions): Promise<number> {
  const file = resolve(options.file);
  if (existsSync(file)) {
    throw new AppError("usage", `${file} is there already, and nothing is overwritten; name another file`, { file });
  }
  const choice = await choose(options);
  const text = workflowText(choice);
  const made = [file];
  mkdirSync(dirname(file), { recursive: true });
  const board = join(dirname(file), "board");
  if (choice.tracker === "local" && !existsSync(board)) {
    mkdirSync(board);
    made.push(board);
  }
  writeFileSync(file, text, { flag: "wx" });
  const left = text.split("\n").filter((line) => line.includes("# CHANGE")).length;
  printLines([`wrote ${made.join(" and ")}`, ...warningsOf(file, options.env), ...nextSteps(choice, file, left)]);
  return 0;
}

/** What the loader has to say about it; a key that isn't set yet is no reason to throw the file away. */
function warningsOf(file: string, env: NodeJS.ProcessEnv): readonly string[] {
  try {
    return loadWorkflow(file, { descriptors: trackerDescriptors, env }).warnings.map(
      (text) => `note: ${plainLine(text)}`,
    );
  } catch (error) {
    return [`note: ${plainLine(errorMessage(error))}`];
  }
}

function nextSteps(choice: Choice, file: string, left: number): readonly string[] {
  const ticket =
    choice.tracker === "local"
      ? "write a ticket into board/, such as TASK-1.md (docs/trackers/local.md)"
      : "give an issue in Todo the label `agent`, and see that the team has a state In Review";
  return [
    "next:",
    ...(left === 0 ? [] : [`  - change the ${left} lines that are marked CHANGE`]),
    `  - symphony doctor ${file}`,
    `  - ${ticket}`,
    `  - symphony ${file}`,
  ];
}

async function choose(options: InitOptions): Promise<Choice> {
  const tracker = options.tracker ?? (options.project === null ? await askTracker(options) : "linear");
  if (tracker === "local") return { tracker };
  const projectSlug = options.project ?? (await askProject(options));
  return { tracker, projectSlug, repository: options.repository ?? (await askRepository(options)) };
}

function needed(flag: string): AppError {
  return new AppError("usage", `nobody can be asked here: give ${flag}`);
}

async function askTracker({ ask }: InitOptions): Promise<"local" | "linear"> {
  if (ask === null) throw needed("--tracker local or --tracker linear");
  for (;;) {
    const answer = (
      await ask("Tickets from a Linear project, or from a folder of Markdown files? [linear/local] ")
    ).trim();
    if (answer === "linear" || answer === "local") return answer;
  }
}

async function askProject({ ask, env, endpoint }: InitOptions): Promise<string> {
  if (ask === null) throw needed("--project with the last part of the project's address");
  const token = (env["LINEAR_API_KEY"] ?? "").trim();
  if (token === "") {
    return (await ask("The project's address, or its last part (LINEAR_API_KEY isn't set, so no list): ")).trim();
  }
  const projects = await listProjects(
    { endpoint, credential: { kind: "token", token, source: "environment" } },
    systemClock,
  );
  printLines(
    projects.map(
      ({ name, slug }, index) => `${String(index + 1).padStart(3)}  ${plainLine(name)}  (${plainLine(slug)})`,
    ),
  );
  for (;;) {
    const chosen = chosenProject((await ask("Which project? Its number, or a slug: ")).trim(), projects);
    if (chosen !== null) return chosen;
  }
}

function chosenProject(answer: string, projects: readonly LinearProject[]): string | null {
  const slug = /^\d{1,3}$/.test(answer) ? projects[Number(answer) - 1]?.slug : answer;
  return slug === undefined || slug === "" ? null : slug;
}

/** The repository of the current folder is the first guess. */
async function askRepository({ ask }: InitOptions): Promise<string | null> {
  const { stdout, exitCode } = await execa("git", ["remote", "get-url", "origin"], { reject: false });
  const guess = exitCode === 0 ? stdout.trim() : "";
  if (ask === null) return guess === "" ? null : guess;
  const answer = (await ask(`The repository, as git clone takes it [${guess === "" ? "later" : guess}]: `)).trim();
  return answer === "" ? guess || null : answer;
}
