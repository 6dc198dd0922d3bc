/** Prompt templates: Liquid, made strict, checked when they are loaded, and rendered without ever reading a ticket's text as a template. */
import { randomBytes } from "node:crypto";

import { Drop, Liquid, LiquidError, UndefinedVariableError, type Template } from "liquidjs";

import { AppError, errorMessage, type ErrorCode } from "../domain/errors.ts";
import { promptData, sampleInputs, type PromptInputs } from "./template/data.ts";
import { unknownNames } from "./template/fields.ts";
import { checkSyntax, TemplateMistake } from "./template/syntax.ts";

export type { PromptInputs } from "./template/data.ts";

/** A template that has passed every check. Made by {@link parseTemplate}; rendered by {@link renderPrompt}. */
export interface PromptTemplate {
  /** The trimmed body; "" = the built-in prompt. */
  readonly source: string;
  readonly parsed: readonly Template[];
  /** File and first line, for messages. */
  readonly origin: TemplateOrigin;
}

export interface TemplateOrigin {
  readonly path: string;
  /** Line of the file on which the body begins. */
  readonly line: number;
}

/** Used when the body is empty (section 12). The description is fenced: it is data, not instructions of ours. */
const BUILT_IN_PROMPT = `You are working on the issue {{ issue.identifier }}: {{ issue.title }}

{% if issue.description == blank -%}
It has no description.
{%- else -%}
Its description, as it was written in the tracker:

{{ issue.description | fence: "description" }}
{%- endif %}

Work in the current directory, which is this issue's own workspace.`;

/** Tags that read files, or that keep state in a way that would have to be explained. */
const REMOVED_TAGS = ["include", "render", "layout", "block", "increment", "decrement"] as const;

/** Far beyond a real template (which takes about a millisecond); they end loops and text that would hold up or eat the daemon. */
const LIMITS = { parseLimit: 1_000_000, renderLimit: 1000, memoryLimit: 50_000_000 };

/** The app-server takes 2^20 characters of input in a turn. */
const MAX_PROMPT_CHARS = 1_000_000;

const FENCE_BYTES = 8;

/** Lists read as a person would write them, records as JSON, and nothing as nothing. */
function printed(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || value instanceof Drop) return "";
  if (Array.isArray(value)) return value.map(printed).join(", ");
  return JSON.stringify(value) ?? "";
}

/** Puts untrusted text between two lines with a mark that its author can't have known. Nothing stays nothing. */
function fence(value: unknown, label: unknown): string {
  const text = printed(value);
  if (text === "") return "";
  const name = label === undefined ? "text" : printed(label);
  const mark = randomBytes(FENCE_BYTES).toString("hex");
  return `----- begin ${name} ${mark} -----\n${text}\n----- end ${name} ${mark} -----`;
}

function createEngine(): Liquid {
  const engine = new Liquid({
    ...LIMITS,
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    outputEscape: printed,
    templates: {},
    // Dates read the same on every machine; and looking for the user's locale takes 18 ms.
    locale: "en-US",
  });
  for (const name of REMOVED_TAGS) delete engine.tags[name];
  engine.registerFilter("fence", fence);
  return engine;
}

const engine = createEngine();

/** liquidjs appends the place to its messages; ours is the file's. */
function plainMessage(error: unknown): string {
  return errorMessage(error).replace(/, line:\d+, col:\d+$/, "");
}

function rowOf(error: unknown): number {
  if (!(error instanceof LiquidError) && !(error instanceof TemplateMistake)) return 1;
  return error.token.getPosition()[0] ?? 1;
}

function failure(code: ErrorCode, origin: TemplateOrigin, row: number, message: string): AppError {
  const line = origin.line + row - 1;
  return new AppError(code, `${origin.path}:${line}: the prompt template is not usable: ${message}`, {
    path: origin.path,
    line,
  });
}

function syntaxFailure(error: unknown, origin: TemplateOrigin): AppError {
  const message = plainMessage(error);
  // An unknown filter is found while parsing, but it is a matter of strict rendering (section 5.4).
  const code = message.startsWith("undefined filter") ? "template_render_error" : "template_parse_error";
  return failure(code, origin, rowOf(error), message);
}

function parse(source: string, origin: TemplateOrigin): readonly Template[] {
  try {
    const parsed = engine.parse(source);
    checkSyntax(source);
    return parsed;
  } catch (error) {
    throw syntaxFailure(error, origin);
  }
}

function checkNames(parsed: readonly Template[], origin: TemplateOrigin): void {
  const [first] = unknownNames(parsed);
  if (first !== undefined) throw failure("template_render_error", origin, first.row, first.message);
}

function checkSamples(parsed: readonly Template[], origin: TemplateOrigin): void {
  for (const { what, data } of sampleInputs()) {
    try {
      engine.renderSync([...parsed], data);
    } catch (error) {
      const mend = error instanceof UndefinedVariableError ? "; guard it with an if tag" : "";
      throw failure("template_render_error", origin, rowOf(error), `${plainMessage(error)} for ${what}${mend}`);
    }
  }
}

/**
 * Parses the trimmed body and tries it on sample issues. Throws `template_parse_error` for what can't be read, and
 * `template_render_error` for unknown filters, inputs and fields, in branches that are never taken too.
 */
export function parseTemplate(
  source: string,
  origin: TemplateOrigin = { path: "the prompt", line: 1 },
): PromptTemplate {
  const text = source.trim();
  const parsed = parse(text === "" ? BUILT_IN_PROMPT : text, origin);
  checkNames(parsed, origin);
  checkSamples(parsed, origin);
  return { source: text, parsed, origin };
}

/** Renders for one run. Values are printed as they are: Liquid in a ticket stays text. Throws `template_render_error`. */
export function renderPrompt({ parsed, origin }: PromptTemplate, inputs: PromptInputs): string {
  let prompt: string;
  try {
    prompt = String(engine.renderSync([...parsed], promptData(inputs)));
  } catch (error) {
    throw failure(
      "template_render_error",
      origin,
      rowOf(error),
      `${plainMessage(error)} for ${inputs.issue.identifier}`,
    );
  }
  if (prompt.length > MAX_PROMPT_CHARS) {
    const message = `it renders to ${prompt.length} characters for ${inputs.issue.identifier}, and an agent takes ${MAX_PROMPT_CHARS}`;
    throw failure("template_render_error", origin, 1, message);
  }
  // Half a surrogate pair, from a ticket or a cut, is no text that the agent's JSON parser takes.
  return prompt.trim().toWellFormed();
}
