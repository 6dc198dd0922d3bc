/** Collects everything that is wrong with one WORKFLOW.md, so that a person mends it in one go. */
import { AppError } from "../../domain/errors.ts";
import { keyText, type FrontMatter, type KeyPath } from "../front-matter-yaml.ts";

const SHOWN_CHARS = 80;

/** A value as an error may show it: short, on one line. */
export function shown(value: unknown): string {
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "nothing");
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

/** One line for a person. */
export interface Problem {
  readonly key: string;
  readonly line: number;
  readonly message: string;
}

/** Errors and warnings of one load, each with file, line and key. */
export class Problems {
  readonly #path: string;
  readonly #matter: FrontMatter;
  readonly #errors: Problem[] = [];
  readonly #warnings: string[] = [];

  constructor(path: string, matter: FrontMatter) {
    this.#path = path;
    this.#matter = matter;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** `text` holds the value, where it may be shown, and the mend. */
  error(key: KeyPath, text: string): void {
    const line = this.#matter.lineOf(key);
    this.#errors.push({ key: keyText(key), line, message: this.at(key, text) });
  }

  warn(key: KeyPath, text: string): void {
    this.#warnings.push(this.at(key, text));
  }

  /** `text` behind the file, the line and the key that it is about. */
  at(key: KeyPath, text: string): string {
    return `${this.where(key)}: ${keyText(key)}: ${text}`;
  }

  /** `/x/WORKFLOW.md:7`. */
  where(key: KeyPath): string {
    return `${this.#path}:${this.#matter.lineOf(key)}`;
  }

  /** Throws `invalid_workflow_config` with a line per error, in the file's order, when there is any. */
  throwErrors(): void {
    if (this.#errors.length > 0) throw this.#asError();
  }

  /** `other` itself when it is all that is wrong, else one error that tells everything. */
  withOther(other: AppError): AppError {
    if (this.#errors.length === 0) return other;
    const key = other.data["key"];
    const line = Number.MAX_SAFE_INTEGER;
    this.#errors.push({ key: typeof key === "string" ? key : "tracker.provider", line, message: other.message });
    return this.#asError();
  }

  #asError(): AppError {
    const problems = this.#errors.toSorted((a, b) => a.line - b.line);
    const message = problems.map((problem) => problem.message).join("\n");
    return new AppError("invalid_workflow_config", message, { path: this.#path, problems });
  }
}
