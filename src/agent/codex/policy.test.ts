import { describe, expect, it } from "vitest";
import { makeSettings } from "../../../test/support/issues.ts";
import {
  approvalPolicy,
  needsExperimentalApi,
  threadConfig,
  threadSandbox,
  turnSandboxPolicy,
  usesGitDirs,
} from "./policy.ts";

const GIT = ["/w/.git"];
const EXPLICIT = { type: "workspaceWrite", writableRoots: ["/elsewhere"], networkAccess: true };

function workspaceWrite(roots: readonly string[]): unknown {
  return {
    type: "workspaceWrite",
    writableRoots: roots,
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  };
}

describe("what the agent may do", () => {
  it.each([
    ["by default", {}, "read-only", workspaceWrite(["/w", "/w/.git"]), true],
    ["without git writes", { gitWrites: false }, "read-only", workspaceWrite(["/w", "/w/.git"]), false],
    [
      "with a writable thread",
      { threadSandbox: "workspace-write" },
      "workspace-write",
      workspaceWrite(["/w", "/w/.git"]),
      true,
    ],
    ["read-only", { threadSandbox: "read-only" }, "read-only", { type: "readOnly" }, false],
    [
      "with full access",
      { threadSandbox: "danger-full-access" },
      "danger-full-access",
      { type: "dangerFullAccess" },
      false,
    ],
    ["by an explicit policy, unchanged", { turnSandboxPolicy: EXPLICIT }, "read-only", EXPLICIT, false],
    [
      "by an explicit policy over the thread's",
      { turnSandboxPolicy: EXPLICIT, threadSandbox: "read-only" },
      "read-only",
      EXPLICIT,
      false,
    ],
  ] as const)("%s", (...[, codex, sandbox, policy, asksGit]) => {
    const settings = makeSettings({ codex });
    expect(threadSandbox(settings)).toBe(sandbox);
    expect(turnSandboxPolicy(settings, "/w", { gitDirs: GIT, temporary: null })).toEqual(policy);
    expect(usesGitDirs(settings)).toBe(asksGit);
  });

  it.each([
    [{}, false],
    [{ threadSandbox: "read-only" }, false],
    [{ threadSandbox: "workspace-write" }, true],
    [{ threadSandbox: "danger-full-access" }, true],
    [{ threadSandbox: "danger-full-access", trustProject: true }, false],
  ])("%j: the repository is named as untrusted: %s", (codex, untrusted) => {
    const config = threadConfig(makeSettings({ codex }), "/w", null);
    expect(config["projects"]).toEqual(untrusted ? { "/w": { trust_level: "untrusted" } } : undefined);
    expect(config["features.unbounded_connection_retries"]).toBe(false);
  });

  it("has the agent's commands run without the user's profile", () => {
    const config = threadConfig(makeSettings(), "/w", null);
    expect(config).toMatchObject({ allow_login_shell: false, "features.shell_snapshot": false });
  });

  it("takes the system's temporary folders away where the session has one of its own", () => {
    const settings = makeSettings();
    const policy = turnSandboxPolicy(settings, "/w", { gitDirs: GIT, temporary: "/own" });
    expect(policy).toMatchObject({
      writableRoots: ["/w", ...GIT, "/own"],
      excludeTmpdirEnvVar: true,
      excludeSlashTmp: true,
    });
    expect(threadConfig(settings, "/w", "/own")["shell_environment_policy.set.TMPDIR"]).toBe("/own");
  });

  it("passes an approval policy through unchanged, and asks nobody by default", () => {
    const granular = { granular: { rules: true } };
    expect(approvalPolicy(makeSettings())).toBe("never");
    expect(approvalPolicy(makeSettings({ codex: { approvalPolicy: granular } }))).toBe(granular);
  });

  it.each([
    [0, "on-request", false],
    [1, "on-request", true],
    [0, { granular: {} }, true],
  ])("needs the experimental part with %s tools and %j: %s", (tools, policy, needed) => {
    expect(needsExperimentalApi(makeSettings({ codex: { approvalPolicy: policy } }), tools)).toBe(needed);
  });
});
