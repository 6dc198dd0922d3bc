/** Workspaces of a real daemon on a temporary root, with real hooks. */
import { join } from "node:path";

import type { WorkspaceRecord } from "../../src/domain/claim.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { HookSettings, Settings } from "../../src/domain/settings.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Removal } from "../../src/workspace/remove-workspace.ts";
import {
  createWorkspaces,
  type PreparedWorkspace,
  type PrepareRequest,
  type Workspaces,
} from "../../src/workspace/workspace.ts";
import { captureLog } from "./captured-log.ts";
import { makeIssue, makeSettings } from "./issues.ts";
import { makeTempDir } from "./temp-dir.ts";

/** In the daemon's environment as LINEAR_API_KEY, and known to the settings. */
export const TRACKER_SECRET = "lin_api_0123456789";

/** What the fixture removes and prepares unless told otherwise. */
export const ISSUE = makeIssue("ENG-7");

/** Everything lies under `dir`, which scripts know as `$D`; the root is `dir/root` and isn't made yet. */
export interface WorkspaceFixture {
  readonly dir: string;
  readonly root: string;
  readonly workspaces: Workspaces;
  /** Workspaces of another daemon on the same machine. */
  daemon(ledgerId: string): Workspaces;
  settingsWith(hooks?: Partial<HookSettings>, workspace?: Partial<Settings["workspace"]>): Settings;
  prepare(issue: Issue, more?: Partial<PrepareRequest>, by?: Workspaces): Promise<PreparedWorkspace>;
  remove(record: WorkspaceRecord, settings?: Settings): Promise<Removal>;
  /** Raw JSON log lines of level warn and above. */
  warnings(): readonly string[];
  dispose(): Promise<void>;
}

/** One per test. */
export async function makeWorkspaceFixture(): Promise<WorkspaceFixture> {
  const { path: dir, dispose } = await makeTempDir();
  const root = join(dir, "root");
  const { log, warnings } = captureLog();
  const baseEnv = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: dir, D: dir, LINEAR_API_KEY: TRACKER_SECRET };
  const host = createLocalHost({ log });
  const daemon = (ledgerId: string): Workspaces =>
    createWorkspaces({ host, ledgerId, log, clock: systemClock, baseEnv, salvageDir: join(dir, "salvage") });
  const workspaces = daemon("ledger-1");
  const base = makeSettings();
  const settingsWith: WorkspaceFixture["settingsWith"] = (hooks = {}, workspace = {}) => ({
    ...base,
    workspace: { root, onTerminal: "remove", ...workspace },
    hooks: { ...base.hooks, ...hooks },
    secrets: [{ envNames: ["LINEAR_API_KEY"], value: TRACKER_SECRET }],
  });
  return {
    dir,
    root,
    workspaces,
    daemon,
    settingsWith,
    warnings,
    dispose,
    prepare: (issue, more = {}, by = workspaces) =>
      by.prepare({
        issue,
        attempt: null,
        settings: settingsWith(),
        bound: null,
        isTaken: () => false,
        signal: new AbortController().signal,
        runMarker: `test-${issue.id}`,
        ...more,
      }),
    remove: (record, settings = settingsWith()) =>
      workspaces.remove({ record, issue: ISSUE, settings, signal: new AbortController().signal }),
  };
}
