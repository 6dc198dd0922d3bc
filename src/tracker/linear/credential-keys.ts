/** The three ways to name Linear's credential, `api_key`, `api_key_file` and `oauth`, and what each makes secret. */
import { readFileSync } from "node:fs";

import { errorMessage } from "../../domain/errors.ts";
import type { Secret } from "../../domain/settings.ts";
import { expandPath, homeDirOf } from "../../workflow/paths.ts";
import { referencedName } from "../../workflow/references.ts";
import type { ProviderInput } from "../../workflow/tracker-descriptor.ts";
import { addressOf, isHeaderSafe, missingSecret, NOT_SHOWN, optionalText, refuse, secretText } from "./keys.ts";
import type { LinearCredential } from "./provider.ts";

const KEY_VARIABLE = "LINEAR_API_KEY";
const DEFAULT_TOKEN_URL = "https://api.linear.app/oauth/token";
const DEFAULT_SCOPE = "read,write";
const OAUTH_KEYS: readonly string[] = ["client_id", "client_secret", "token_url", "scope"];

interface Found {
  readonly credential: LinearCredential;
  readonly secrets: readonly Secret[];
}

/** LINEAR_API_KEY is a name of the tracker's secret whichever variable the file uses. */
function asSecret(value: string, raw: unknown): Secret {
  const reference = referencedName(raw);
  return { envNames: [...new Set([KEY_VARIABLE, ...(reference === null ? [] : [reference])])], value };
}

function tokenCredential(input: ProviderInput, raw: unknown): Found {
  const token = secretText(input, "api_key", raw);
  const source = referencedName(raw) === null ? "literal" : "environment";
  return { credential: { kind: "token", token, source }, secrets: [asSecret(token, raw)] };
}

/** `~` and variables are expanded, systemd's `$CREDENTIALS_DIRECTORY/name` too. */
function keyFilePath(input: ProviderInput, text: string): string {
  const { env, baseDir } = input;
  const expanded = expandPath(text, { env, homeDir: homeDirOf(env), baseDir });
  if ("path" in expanded) return expanded.path;
  throw missingSecret(
    "api_key_file",
    `${text} uses $${expanded.unset}, which is not set; set it or write the path out`,
  );
}

function fileCredential(input: ProviderInput): Found {
  const written = input.raw["api_key_file"];
  if (typeof written !== "string") throw refuse("api_key_file", written, "is no path; name the file with the key");
  const path = keyFilePath(input, written);
  const token = readKeyFile(path);
  return { credential: { kind: "file", path }, secrets: [asSecret(token, undefined)] };
}

/** The key in a file; throws missing_tracker_secret or invalid_tracker_config that names the file. */
export function readKeyFile(path: string): string {
  let value: string;
  try {
    value = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw missingSecret(
      "api_key_file",
      `can't be read (${errorMessage(error)}); make the file readable for the daemon`,
    );
  }
  if (value === "") throw missingSecret("api_key_file", `${path} is empty; put the key into it`);
  if (!isHeaderSafe(value)) throw refuse("api_key_file", path, "holds more than one key; put the key alone into it");
  return value;
}

function clientCredential(input: ProviderInput): Found {
  const raw = input.raw["oauth"];
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw refuse("oauth", NOT_SHOWN, "is no map; give client_id and client_secret");
  }
  const map = new Map(Object.entries(raw));
  const unknown = [...map.keys()].find((key) => !OAUTH_KEYS.includes(key));
  if (unknown !== undefined) throw refuse(`oauth.${unknown}`, NOT_SHOWN, `is no key; use ${OAUTH_KEYS.join(", ")}`);
  const clientId = optionalText(input, "oauth.client_id", map.get("client_id") ?? null);
  if (clientId === null) {
    throw refuse("oauth.client_id", NOT_SHOWN, "is missing; copy it from the application's page in Linear");
  }
  const clientSecret = secretText(input, "oauth.client_secret", map.get("client_secret"));
  const tokenUrl = addressOf(input, "oauth.token_url", DEFAULT_TOKEN_URL, map.get("token_url") ?? null);
  const scope = optionalText(input, "oauth.scope", map.get("scope") ?? null) ?? DEFAULT_SCOPE;
  return {
    credential: { kind: "client", clientId, clientSecret, tokenUrl, scope },
    secrets: [asSecret(clientSecret, map.get("client_secret"))],
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function chooseCredential(input: ProviderInput): Found {
  const given = ["api_key", "api_key_file", "oauth"].filter((key) => isGiven(input.raw[key]));
  if (given.length > 1) throw refuse(given.join(", "), undefined, "exclude each other; keep one");
  switch (given[0]) {
    case "api_key":
      return tokenCredential(input, input.raw["api_key"]);
    case "api_key_file":
      return fileCredential(input);
    case "oauth":
      return clientCredential(input);
    default:
      if ((input.env[KEY_VARIABLE] ?? "") !== "") return tokenCredential(input, `$${KEY_VARIABLE}`);
      throw missingSecret(
        "api_key",
        `is missing and ${KEY_VARIABLE} is not set; create a personal API key in Linear's settings and export ${KEY_VARIABLE}`,
      );
  }
}

/** The credential of `tracker.provider`; an omitted one is the environment's LINEAR_API_KEY. */
export function parseCredential(input: ProviderInput): Found {
  const found = chooseCredential(input);
  // The variable's value is a tracker's secret also where another key is in use.
  const ambient = input.env[KEY_VARIABLE] ?? "";
  if (ambient === "" || found.secrets.some((secret) => secret.value === ambient)) return found;
  return { ...found, secrets: [...found.secrets, { envNames: [KEY_VARIABLE], value: ambient }] };
}
