import { mkdir, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";

import { describeTrackerContract } from "../../../test/contract/tracker-contract.ts";
import { HARNESS_STATES, type IssueDraft, type TrackerHarness } from "../../../test/contract/tracker-harness.ts";
import { captureLog, type CapturedLog } from "../../../test/support/captured-log.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import type { Settings } from "../../domain/settings.ts";
import { issueId, type IssueId } from "../../domain/ids.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Tracker } from "../port.ts";
import { createLocalTracker } from "./adapter.ts";

function settingsFor(path: string): Settings {
  const base = makeSettings();
  return {
    ...base,
    tracker: {
      ...base.tracker,
      activeStates: HARNESS_STATES.active,
      terminalStates: HARNESS_STATES.terminal,
      provider: { path, states: HARNESS_STATES.other },
    },
  };
}

function ticketText(draft: IssueDraft): string {
  const { title, state, priority, labels, blockedBy, description } = draft;
  const front = stringify({
    title,
    state,
    priority: priority ?? null,
    labels: labels ?? [],
    blocked_by: blockedBy ?? [],
  });
  return `---\n${front}---\n\n${description ?? ""}\n`;
}

async function makeHarness(): Promise<TrackerHarness> {
  const dir = await makeTempDir();
  const board = join(dir.path, "board");
  await mkdir(board);
  const captured = captureLog();
  const drafts = new Map<IssueId, IssueDraft>();
  const fileOf = (id: IssueId): string => join(board, `${id}.md`);
  const tracker = await createLocalTracker({ settings: settingsFor(board), clock: systemClock, log: captured.log });
  return {
    tracker,
    warnings: captured.warnings,
    async create(draft) {
      const id = issueId(`ENG-${drafts.size + 1}`);
      drafts.set(id, draft);
      await writeFile(fileOf(id), ticketText(draft));
      return id;
    },
    async update(id, patch) {
      const draft = { ...(drafts.get(id) ?? { title: "", state: "" }), ...patch };
      drafts.set(id, draft);
      await writeFile(fileOf(id), ticketText(draft));
    },
    remove: (id) => rm(fileOf(id)),
    breakRecord: (id) =>
      writeFile(fileOf(id), ticketText({ ...(drafts.get(id) ?? { title: "", state: "Todo" }), title: "" })),
    failReads: () => rename(board, `${board}-away`),
    healReads: () => rename(`${board}-away`, board),
    dispose: dir.dispose,
  };
}

describeTrackerContract("local board", makeHarness);

describe("local board", () => {
  let dir: TempDir;
  let captured: CapturedLog;
  let tracker: Tracker;

  beforeEach(async () => {
    dir = await makeTempDir();
    captured = captureLog();
    tracker = await createLocalTracker({ settings: settingsFor(dir.path), clock: systemClock, log: captured.log });
  });
  afterEach(() => dir.dispose());

  const put = (name: string, text: string): Promise<void> => writeFile(join(dir.path, name), text);
  const todo = (): ReturnType<Tracker["fetchIssuesByStates"]> => tracker.fetchIssuesByStates(["Todo"]);

  it("takes id and identifier from the file's stem, and keeps any name that a file may have", async () => {
    await put("ENG-7.md", "---\ntitle: a\nstate: Todo\n---\n");
    await put("Fix the login, é.md", "---\ntitle: b\nstate: Todo\n---\n");
    const names = (await todo()).map((issue) => [issue.id, issue.identifier]);
    expect(names).toEqual([
      ["ENG-7", "ENG-7"],
      ["Fix the login, é", "Fix the login, é"],
    ]);
  });

  it("ignores what is no ticket: other files, hidden files, swap files, folders", async () => {
    const text = "---\ntitle: a\nstate: Todo\n---\n";
    for (const name of ["notes.txt", ".hidden.md", ".ENG-1.md.swp", "ENG-1.md~", "#ENG-1.md#", ".ENG-1.md.x.tmp"]) {
      await put(name, text);
    }
    await mkdir(join(dir.path, "folder.md"));
    expect(await todo()).toEqual([]);
    expect(captured.warnings()).toEqual([]);
  });

  it("takes a missing created_at from the file's birth, and updated_at from its last change", async () => {
    await put("ENG-1.md", "---\ntitle: a\nstate: Todo\n---\n");
    const { birthtimeMs, mtimeMs } = await stat(join(dir.path, "ENG-1.md"));
    const [issue] = await todo();
    expect(issue?.created_at).toBe(new Date(Math.floor(birthtimeMs)).toISOString());
    expect(issue?.updated_at).toBe(new Date(Math.floor(mtimeMs)).toISOString());
  });

  it("names file and line of a malformed ticket, again only for other content", async () => {
    await put("ENG-1.md", "---\ntitle: a\nstate: Todo\npriority: high\n---\n");
    await todo();
    await todo();
    expect(captured.warnings()).toHaveLength(1);
    expect(JSON.parse(captured.warnings()[0] ?? "")).toMatchObject({ file: join(dir.path, "ENG-1.md"), line: 4 });
    await put("ENG-1.md", "---\ntitle: a\nstate: Todo\npriority: higher\n---\n");
    await todo();
    expect(captured.warnings()).toHaveLength(2);
  });

  it("lists what it left out, slips in the state too, until they are mended", async () => {
    const left = () => tracker.malformed?.().map(({ identifier, where, state }) => [identifier, where, state]);
    await put("ENG-1.md", "no front matter");
    await put("ENG-2.md", "---\ntitle: a\nstate: Dooing\n---\n");
    await put("ENG-3.md", `---\ntitle: a\nstate: ${HARNESS_STATES.other[0]}\n---\n`);
    await todo();
    expect(left()).toEqual([
      ["ENG-1", `${join(dir.path, "ENG-1.md")}:1`, null],
      ["ENG-2", join(dir.path, "ENG-2.md"), "Dooing"],
    ]);
    await put("ENG-1.md", "---\ntitle: a\nstate: Todo\n---\n");
    await rm(join(dir.path, "ENG-2.md"));
    await todo();
    expect(left()).toEqual([]);
  });

  it("warns anew when a mended ticket breaks again in the same way", async () => {
    const broken = "---\ntitle: a\n---\n";
    for (const text of [broken, "---\ntitle: a\nstate: Todo\n---\n", broken]) {
      await put("ENG-1.md", text);
      await todo();
    }
    expect(captured.warnings()).toHaveLength(2);
  });

  it("refuses a ticket that is a link, and says so", async () => {
    await put("outside.txt", "---\ntitle: secret\nstate: Todo\n---\n");
    await symlink(join(dir.path, "outside.txt"), join(dir.path, "ENG-1.md"));
    expect(await todo()).toEqual([]);
    expect(captured.warnings().join()).toContain("the file is a link");
  });

  it("holds a todo ticket whose blocker is not on the board, and says which", async () => {
    await put("ENG-2.md", "---\ntitle: a\nstate: todo\nblocked_by: [ENG-404]\n---\n");
    const [issue] = await tracker.fetchIssuesByStates(["Todo"]);
    await todo();
    expect(issue?.dispatchable).toBe(false);
    expect(issue?.blocked_by).toEqual([{ id: null, identifier: "ENG-404", state: null }]);
    expect(captured.warnings()).toHaveLength(1);
    expect(captured.warnings()[0]).toContain("ENG-404");
  });

  it("holds a todo ticket while its blocker can't be read, without failing for it", async () => {
    await put("ENG-1.md", "no front matter");
    await put("ENG-2.md", "---\ntitle: a\nstate: Todo\nblocked_by: [ENG-1]\n---\n");
    const [issue] = await tracker.fetchIssuesByIds([issueId("ENG-2")]);
    expect(issue?.dispatchable).toBe(false);
    expect(issue?.blocked_by).toEqual([{ id: "ENG-1", identifier: "ENG-1", state: null }]);
  });

  it("takes no ticket for gone while its folder is away", async () => {
    await writeFile(join(dir.path, "A-1.md"), ticketText({ title: "t", state: HARNESS_STATES.active[0] ?? "Todo" }));
    const read = () => tracker.fetchIssuesByIds([issueId("A-1")]);
    expect(await read()).toHaveLength(1);
    await rename(dir.path, `${dir.path}.away`);
    await expect(read()).rejects.toMatchObject({ code: "tracker_request" });
    await rename(`${dir.path}.away`, dir.path);
    expect(await read()).toHaveLength(1);
    await rm(join(dir.path, "A-1.md"));
    expect(await read()).toEqual([]);
  });

  it("never reads outside its folder, whatever an id holds", async () => {
    await mkdir(join(dir.path, "inner"));
    const inner = await createLocalTracker({
      settings: settingsFor(join(dir.path, "inner")),
      clock: systemClock,
      log: captured.log,
    });
    await put("secret.md", "---\ntitle: s\nstate: Todo\n---\n");
    const ids = ["../secret", "..", ".", "", "/etc/passwd", "a/b", "nul\0"].map(issueId);
    expect(await inner.fetchIssuesByIds(ids)).toEqual([]);
  });
});
