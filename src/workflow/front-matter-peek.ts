/** A look into a front matter for commands that only report: without validating it, so that they need neither a key nor a file in order. */
import { isAppError } from "../domain/errors.ts";
import { parseFrontMatter } from "./front-matter-yaml.ts";
import { splitWorkflow } from "./front-matter.ts";
import { decodeWorkflow, readWorkflowFile } from "./workflow-file.ts";

/** The values as they are written; none when the file can't be read. `path` is absolute. */
export function peekFrontMatter(path: string): Readonly<Record<string, unknown>> {
  try {
    const { yaml, yamlLine } = splitWorkflow(path, decodeWorkflow(path, readWorkflowFile(path)));
    return parseFrontMatter(path, yaml ?? "", yamlLine).values;
  } catch (error) {
    if (isAppError(error)) return {};
    throw error;
  }
}
