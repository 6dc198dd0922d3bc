/** Makes a WORKFLOW.md of one of the files that ship with the product: what a person chose takes the place of what the file marks CHANGE. */
import { readFileSync } from "node:fs";
import { AppError } from "../../domain/errors.ts";
import { packageFile } from "../../lib/package-file.ts";

/** What a WORKFLOW.md needs to know. */
export type Choice =
  | { readonly tracker: "local" }
  | {
      readonly tracker: "linear";
      readonly projectSlug: string;
      /** How it is cloned; null leaves the lines to be changed by hand. */
      readonly repository: string | null;
    };

/** As the shipped file has them. */
const PLACEHOLDER = {
  slug: "your-project-0123456789ab",
  url: "git@github.com:your-org/your-repository.git",
  path: "your-org/your-repository",
  mirror: "your-repository.git",
} as const;

/** A URL or an scp-like address of a repository; nothing else may become a word of a script. */
const REPOSITORY = /^(?:(?:https?|ssh|file):\/\/|[\w.-]+@[\w.-]+:|\/)[\w./~@:+-]+$/;
const SLUG = /^[\w-]+$/;

/** The file's text. Throws AppError `usage` for a slug or a repository that is none. */
export function workflowText(choice: Choice): string {
  if (choice.tracker === "local") return shipped("workflows/local.md");
  const { projectSlug, repository } = choice;
  if (!SLUG.test(projectSlug)) {
    throw new AppError(
      "usage",
      `--project ${JSON.stringify(projectSlug)} is no slug; take the last part of the project's address`,
    );
  }
  // How to copy it by hand is no news to who has just had it written.
  const example = shipped("WORKFLOW.example.md").replace(/^# Copy this file .*\n/m, "");
  const text = changed(example, PLACEHOLDER.slug, projectSlug);
  return repository === null ? text : withRepository(text, repository);
}

function withRepository(text: string, repository: string): string {
  if (!REPOSITORY.test(repository)) {
    const mend = "give it as git clone takes it, such as git@github.com:org/name.git";
    throw new AppError("usage", `--repository ${JSON.stringify(repository)} is no address; ${mend}`);
  }
  // org/name, without what stands before and the ending.
  const path = /([\w.~+-]+\/[\w.~+-]+?)(?:\.git)?\/?$/.exec(repository)?.[1] ?? repository;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const urls = changed(text, PLACEHOLDER.url, repository);
  const paths = changed(urls, `repository=${PLACEHOLDER.path}`, `repository=${path}`);
  return changed(paths, PLACEHOLDER.mirror, `${name}.git`);
}

/** Puts a value in everywhere, and takes away the marks of the lines that had the placeholder. */
function changed(text: string, placeholder: string, value: string): string {
  if (!text.includes(placeholder)) throw new Error(`the shipped workflow file has no ${placeholder}`);
  return text
    .split("\n")
    .map((line) =>
      line.includes(placeholder) ? line.replaceAll(placeholder, value).replace(/ # CHANGE.*$/, "") : line,
    )
    .join("\n");
}

function shipped(name: string): string {
  return readFileSync(packageFile(name), "utf8");
}
