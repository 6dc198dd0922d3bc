/** The bearer token for changes over TCP: made at the first start, kept in the state directory, readable by its owner alone. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { AppError, errorMessage } from "../domain/errors.ts";

const TOKEN_BYTES = 32;

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** The token in the file, which is made with mode 0600 when it isn't there. Throws AppError state_dir_unusable. */
export async function loadToken(path: string): Promise<string> {
  try {
    const token = (await readFile(path, "utf8")).trim();
    if (token !== "") return token;
  } catch (error) {
    if (!isMissing(error)) throw unusable(path, error);
  }
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  try {
    await writeFile(path, `${token}\n`, { mode: 0o600 });
  } catch (error) {
    throw unusable(path, error);
  }
  return token;
}

function unusable(path: string, cause: unknown): AppError {
  return new AppError(
    "state_dir_unusable",
    `the API token ${path} can't be used: ${errorMessage(cause)}`,
    { path },
    { cause },
  );
}
