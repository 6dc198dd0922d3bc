import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeTempDir } from "../../../test/support/temp-dir.ts";
import type { TempDir } from "../../../test/support/temp-dir.ts";
import type { Secret } from "../../domain/settings.ts";
import { resolveReference } from "../../workflow/references.ts";
import type { ProviderSettings } from "../../workflow/tracker-descriptor.ts";
import { linearDescriptor } from "./descriptor.ts";
import type { LinearProvider } from "./provider.ts";
import { readProvider } from "./provider.ts";

const KEY = "lin_api_secretsecretsecret";

function parse(raw: Record<string, unknown>, env: Record<string, string> = {}, baseDir = "/"): ProviderSettings {
  return linearDescriptor.parseProvider({ raw, env, baseDir, resolve: (value) => resolveReference(value, env) });
}

function providerOf(
  raw: Record<string, unknown>,
  env: Record<string, string> = { LINEAR_API_KEY: KEY },
): LinearProvider {
  return readProvider(parse({ project_slug: "demo", ...raw }, env).provider);
}

function namesOf(secrets: readonly Secret[]): Record<string, readonly string[]> {
  return Object.fromEntries(secrets.map((secret) => [secret.value, secret.envNames]));
}

describe("Linear's settings", () => {
  it("need a scope and a key, and have defaults for the rest", () => {
    expect(providerOf({})).toEqual({
      endpoint: "https://api.linear.app/graphql",
      credential: { kind: "token", token: KEY, source: "environment" },
      scope: { projectSlug: "demo", team: null, labels: [], view: null },
      assignee: null,
      delegate: null,
      toolMode: "scoped",
      agentSessions: false,
    });
  });

  it("have the states of the specification", () => {
    expect(linearDescriptor.activeStates).toEqual(["Todo", "In Progress"]);
    expect(linearDescriptor.terminalStates).toEqual(["Done", "Closed", "Cancelled", "Canceled", "Duplicate"]);
    expect(linearDescriptor.flatKeys).toEqual(["endpoint", "api_key", "project_slug", "assignee"]);
  });

  it("take the assignee from the file, else from LINEAR_ASSIGNEE", () => {
    const env = { LINEAR_API_KEY: KEY, LINEAR_ASSIGNEE: "me", OTHER: "user-1" };
    expect(providerOf({}, env).assignee).toBe("me");
    expect(providerOf({ assignee: "$OTHER" }, env).assignee).toBe("user-1");
    expect(providerOf({ assignee: "user-2" }, env).assignee).toBe("user-2");
  });

  it("take a scope by project address, team key, labels or view", () => {
    expect(
      providerOf({ project_slug: "https://linear.app/acme/project/my-app-0c79b11b75ea/overview" }).scope,
    ).toMatchObject({
      projectSlug: "my-app-0c79b11b75ea",
    });
    const scope = readProvider(
      parse({ team: "eng", labels: "agent", view: "v1" }, { LINEAR_API_KEY: KEY }).provider,
    ).scope;
    expect(scope).toEqual({ projectSlug: null, team: "ENG", labels: ["agent"], view: "v1" });
  });

  it.each(["http://localhost:4010/graphql", "http://127.0.0.1:4010/graphql", "http://[::1]:4010/graphql"])(
    "let a local server be plain: %s",
    (endpoint) => {
      expect(providerOf({ endpoint }).endpoint).toBe(endpoint);
    },
  );

  it.each([
    [{ endpoint: "http://linear.example.com/graphql" }, /endpoint: "http:\/\/linear.*unencrypted; use https/],
    [{ endpoint: "http://127.0.0.1.example.com/" }, /unencrypted/],
    [{ endpoint: "ftp://localhost/" }, /unencrypted/],
    [{ endpoint: "api.linear.app" }, /endpoint: "api.linear.app" is no address; write one such as https:/],
    [{ endpoint: 7 }, /endpoint: 7 is no text/],
    [{ project_slug: "" }, /project_slug: "" is missing; copy the last part of the project's address/],
    [{ project_slug: "$UNSET" }, /project_slug: "\$UNSET" is missing/],
    [{ project_slug: ["a"] }, /project_slug: \["a"\] is no text/],
    [{ labels: [3] }, /labels: \[3\] is not a list of label names/],
    [{ tool: "open" }, /tool: "open" is no map; write it such as \{mode: scoped\}/],
    [{ tool: { mode: "wild" } }, /tool\.mode: "wild" is not a mode; use scoped, open, read/],
    [{ tool: { moed: "open" } }, /tool\.moed: "open" is not a key/],
    [{ agent_sessions: "yes" }, /agent_sessions: "yes" is neither true nor false/],
    [{ agent_sessions: true }, /agent_sessions: true needs an application's credential.*use oauth/],
    [{ api_key: KEY, api_key_file: "/x" }, /api_key, api_key_file: exclude each other/],
    [{ oauth: { client_id: "a", secret: "s3cret" } }, /oauth\.secret: is no key; use client_id, client_secret/],
    [{ oauth: { client_secret: "s3cret" } }, /oauth\.client_id: is missing/],
    [{ api_key: "two words" }, /api_key: holds spaces/],
  ])("name key, value and mend for %j", (raw, message) => {
    expect(() => parse({ project_slug: "demo", ...raw }, { LINEAR_API_KEY: KEY })).toThrow(
      expect.objectContaining({ code: "invalid_tracker_config", message: expect.stringMatching(message) }),
    );
  });
});

describe("Linear's credential", () => {
  let dir: TempDir;
  beforeEach(async () => {
    dir = await makeTempDir();
    await writeFile(join(dir.path, "key"), `${KEY}\n`);
    await writeFile(join(dir.path, "empty"), "\n");
    await writeFile(join(dir.path, "two"), "one two\n");
  });
  afterEach(() => dir.dispose());

  const scoped = (raw: Record<string, unknown>, env: Record<string, string> = {}): ProviderSettings =>
    parse({ project_slug: "demo", ...raw }, env, dir.path);

  it("falls back to LINEAR_API_KEY when the key is left out", () => {
    const { provider, secrets } = scoped({}, { LINEAR_API_KEY: KEY });
    expect(provider["credential"]).toEqual({ kind: "token", token: KEY, source: "environment" });
    expect(namesOf(secrets)).toEqual({ [KEY]: ["LINEAR_API_KEY"] });
  });

  it("is secret under the name that the file uses and under LINEAR_API_KEY, whose own value is secret as well", () => {
    const env = { MY_KEY: KEY, LINEAR_API_KEY: "lin_api_another" };
    expect(namesOf(scoped({ api_key: "$MY_KEY" }, env).secrets)).toEqual({
      [KEY]: ["LINEAR_API_KEY", "MY_KEY"],
      lin_api_another: ["LINEAR_API_KEY"],
    });
  });

  it("is marked when it stands in the file itself", () => {
    expect(scoped({ api_key: KEY }).provider["credential"]).toMatchObject({ source: "literal" });
  });

  it("comes from a file, by a path with variables as systemd gives it", () => {
    for (const path of ["key", "./key", "$CREDENTIALS_DIRECTORY/key", "~/key"]) {
      const { provider, secrets } = scoped({ api_key_file: path }, { CREDENTIALS_DIRECTORY: dir.path, HOME: dir.path });
      expect(provider["credential"]).toEqual({ kind: "file", path: join(dir.path, "key") });
      expect(namesOf(secrets)).toEqual({ [KEY]: ["LINEAR_API_KEY"] });
    }
  });

  it("may be an OAuth client, whose secret is one", () => {
    const { provider, secrets } = scoped({ oauth: { client_id: "id", client_secret: "$CS" } }, { CS: "s3cret" });
    expect(provider["credential"]).toEqual({
      kind: "client",
      clientId: "id",
      clientSecret: "s3cret",
      tokenUrl: "https://api.linear.app/oauth/token",
      scope: "read,write",
    });
    expect(namesOf(secrets)).toEqual({ s3cret: ["LINEAR_API_KEY", "CS"] });
  });

  it.each([
    [{}, /api_key: is missing and LINEAR_API_KEY is not set; create a personal API key.*export LINEAR_API_KEY/],
    [{ api_key: "$MY_KEY" }, /api_key: \$MY_KEY is not set or empty; export MY_KEY/],
    [{ api_key: "${EMPTY}" }, /api_key: \$EMPTY is not set or empty; export EMPTY/],
    [{ oauth: { client_id: "id", client_secret: "$CS" } }, /oauth\.client_secret: \$CS is not set or empty/],
    [{ api_key_file: "gone" }, /api_key_file: can't be read \(.*gone.*\); make the file readable/],
    [{ api_key_file: "empty" }, /api_key_file: .*empty is empty; put the key into it/],
    [{ api_key_file: "$UNSET/key" }, /api_key_file: \$UNSET\/key uses \$UNSET, which is not set/],
  ])("names what is missing for %j", (raw, message) => {
    expect(() => scoped(raw, { EMPTY: "" })).toThrow(
      expect.objectContaining({ code: "missing_tracker_secret", message: expect.stringMatching(message) }),
    );
  });

  it.each([
    { api_key: `${KEY}\nX-Evil: 1` },
    { api_key: [KEY] },
    { endpoint: `https://user:${KEY}@api.linear.app/` },
    { oauth: { client_id: "id", client_secret: `${KEY} ` + KEY } },
    { oauth: KEY },
    { oauth: { client_id: "id", client_secert: KEY } },
  ])("never stands in an error (%#)", (raw) => {
    const attempt = (): unknown => scoped(raw, { LINEAR_API_KEY: "lin_api_other" });
    expect(attempt).toThrow(expect.objectContaining({ code: "invalid_tracker_config" }));
    expect(attempt).not.toThrow(expect.objectContaining({ message: expect.stringContaining(KEY) }));
    try {
      attempt();
    } catch (error) {
      expect(JSON.stringify(error)).not.toContain(KEY);
    }
  });
});
