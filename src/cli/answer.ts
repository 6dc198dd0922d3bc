/** Reads what a daemon answers, which may be of another version than this program. */
import type { z } from "zod";
import { AppError } from "../domain/errors.ts";

/** The answer as its schema has it. Throws AppError `request_refused` that says what is missing, and the mend. */
export function readAnswer<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const fields = [...new Set(result.error.issues.map(({ path }) => path.join(".") || "the answer"))];
  throw new AppError(
    "request_refused",
    `the daemon's answer isn't understood (${fields.join(", ")}): it runs another version of symphony; start it again with this one, or use --json`,
    { fields },
    { cause: result.error },
  );
}
