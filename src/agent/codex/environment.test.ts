import { describe, expect, it } from "vitest";
import { makeSettings } from "../../../test/support/issues.ts";
import type { CodexSettings, Secret } from "../../domain/settings.ts";
import { agentEnvironment, mentionedNames, scriptEnvironment } from "./environment.ts";

const SECRET: Secret = { envNames: ["LINEAR_API_KEY", "BOARD_TOKEN"], value: "lin_api_0123456789" };

const DAEMON_ENV: Readonly<Record<string, string | undefined>> = {
  HOME: "/home/a",
  PATH: "/bin",
  USER: "a",
  LOGNAME: "a",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  LC_ALL: "C",
  TERM: "xterm",
  TZ: "UTC",
  TMPDIR: "/tmp",
  SSH_AUTH_SOCK: "/run/ssh",
  HTTPS_PROXY: "http://proxy",
  no_proxy: "localhost",
  CODEX_HOME: "/home/a/.codex",
  OPENAI_API_KEY: "sk-agent",
  AWS_SECRET_ACCESS_KEY: "aws",
  GITHUB_TOKEN: "gh",
  NODE_OPTIONS: "--inspect",
  MY_MODEL: "gpt",
  UNSET: undefined,
  LINEAR_API_KEY: SECRET.value,
};

function environment(codex: Partial<CodexSettings> = {}, daemonEnv = DAEMON_ENV): Record<string, string> {
  const settings = makeSettings({ codex, rest: { secrets: [SECRET] } });
  return agentEnvironment({ daemonEnv, settings, runMarker: "run-7" });
}

describe("the agent's environment", () => {
  it("is exactly the allow-list, with the run's marker", () => {
    expect(environment()).toEqual({
      HOME: "/home/a",
      PATH: "/bin",
      USER: "a",
      LOGNAME: "a",
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
      LC_ALL: "C",
      TERM: "xterm",
      TZ: "UTC",
      TMPDIR: "/tmp",
      SSH_AUTH_SOCK: "/run/ssh",
      HTTPS_PROXY: "http://proxy",
      no_proxy: "localhost",
      CODEX_HOME: "/home/a/.codex",
      OPENAI_API_KEY: "sk-agent",
      SYMPHONY_RUN_MARKER: "run-7",
    });
  });

  it("adds the names that codex.command mentions, and codex.env above the inherited value", () => {
    const env = environment({ command: 'codex -m "$MY_MODEL" app-server', env: { TERM: "dumb", EXTRA: "1" } });
    expect(env).toMatchObject({ MY_MODEL: "gpt", TERM: "dumb", EXTRA: "1" });
    expect(env).not.toHaveProperty("GITHUB_TOKEN");
  });

  it("inherits everything but secrets when it is told to", () => {
    const env = environment({ envInherit: "all" });
    expect(env).toMatchObject({ GITHUB_TOKEN: "gh", AWS_SECRET_ACCESS_KEY: "aws", NODE_OPTIONS: "--inspect" });
    expect(env).not.toHaveProperty("LINEAR_API_KEY");
    expect(env).not.toHaveProperty("UNSET");
  });

  it.each(["core", "all"] as const)("holds no tracker secret under any name with %s", (envInherit) => {
    const daemonEnv = {
      ...DAEMON_ENV,
      BOARD_TOKEN: "another value under a name of the secret",
      OPENAI_COPY: SECRET.value,
      CODEX_HEADER: `Bearer ${SECRET.value}`,
      HTTPS_PROXY: `http://user:${SECRET.value}@proxy`,
    };
    const command = "LINEAR_API_KEY=$LINEAR_API_KEY codex $BOARD_TOKEN app-server";
    const env = environment({ envInherit, command, env: { HANDED: SECRET.value } }, daemonEnv);
    expect(JSON.stringify(env)).not.toContain(SECRET.value);
    expect(Object.keys(env)).not.toContain("BOARD_TOKEN");
  });

  it("doesn't take a short secret for a part of an unrelated value", () => {
    const settings = makeSettings({ rest: { secrets: [{ envNames: ["KEY"], value: "home" }] } });
    const env = agentEnvironment({ daemonEnv: { HOME: "/home/a", TZ: "home" }, settings, runMarker: "r" });
    expect(env).toEqual({ HOME: "/home/a", SYMPHONY_RUN_MARKER: "r" });
  });

  it("is the core alone for our own scripts", () => {
    const settings = makeSettings({ codex: { env: { EXTRA: "1" }, command: "codex $MY_MODEL" } });
    const env = scriptEnvironment({ daemonEnv: DAEMON_ENV, settings, runMarker: "r" });
    expect(env).not.toHaveProperty("EXTRA");
    expect(env).not.toHaveProperty("MY_MODEL");
    expect(env).toMatchObject({ PATH: "/bin", SYMPHONY_RUN_MARKER: "r" });
  });
});

describe("names in a command", () => {
  it.each([
    ["codex app-server", []],
    ["$A ${B} ${C:-x} \"$D\" '$E' $1 $$ a$F_2b", ["A", "B", "C", "D", "E", "F_2b"]],
  ])("%s", (command, names) => {
    expect([...mentionedNames(command)]).toEqual(names);
  });
});
