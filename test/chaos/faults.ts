/** The faults: each strikes, mends what can be mended, and leaves a daemon that works. */
import { copyFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { backupLedger } from "../../src/ledger/maintenance.ts";
import { DAMAGES, digest, LEDGER_FILES } from "./ledger-damage.ts";
import type { FaultKind, FaultPlan } from "./plan.ts";
import { isOfRound, processesOf, sendSignal } from "./processes.ts";
import { isFinished } from "./scripts.ts";
import type { World } from "./world.ts";

/** What was done, in words; or that there was nothing to strike; or why this machine doesn't let it be done. */
export type Strike = { readonly did: string } | { readonly missed: string } | { readonly skipped: string };

/** Something that must hold while a fault is on did not. */
export class FaultLoss extends Error {
  override readonly name = "FaultLoss";
}

/** On a busy machine the next agent may be that far away. */
const LIVE_PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 20;

type Fault = (world: World, plan: FaultPlan) => Promise<Strike>;

/** A daemon's own answer to a start that can't be. */
async function expectRefusal(world: World, what: string, words: RegExp): Promise<string> {
  const { code, stderr } = await world.command().ended;
  const line = stderr.split("\n").find((text) => text.startsWith("symphony: ")) ?? "";
  if (code !== 1) throw new FaultLoss(`${what}: the daemon ended with code ${code ?? "none"} instead of 1: ${stderr}`);
  if (!words.test(line)) throw new FaultLoss(`${what}: the refusal doesn't say ${String(words)}: ${line}`);
  return line;
}

/** One of the round's live processes that the journal has under this name, picked by number; null when none comes any more. */
async function pickLive(world: World, name: "launch" | "agent", pick: number): Promise<number | null> {
  const deadline = performance.now() + LIVE_PATIENCE_MS;
  for (;;) {
    const pids = world.journal().flatMap((entry) => (entry.name === name ? [entry.pid] : []));
    const live = [...new Set(pids)].filter((pid) => isOfRound(pid, world.user.root));
    const picked = live[pick % live.length];
    if (picked !== undefined) return picked;
    const isOver = world.plan.tickets.every(({ id, kind }) => !isFinished(kind) || world.stateOf(id) === "Done");
    if (isOver || performance.now() > deadline) return null;
    await pause(LOOK_EVERY_MS);
  }
}

function strikeAt(name: "launch" | "agent", signals: (plan: FaultPlan) => readonly NodeJS.Signals[]): Fault {
  return async (world, plan) => {
    const pid = await pickLive(world, name, plan.pick);
    if (pid === null) return { missed: `no ${name} was alive` };
    for (const [index, signal] of signals(plan).entries()) {
      if (index > 0) await pause(plan.holdMs);
      sendSignal(pid, signal);
    }
    return { did: `${name} ${pid}` };
  };
}

const MAX_KILLED_BOOTS = 3;
/** Within it a daemon has come anywhere between its first line and its first dispatch. */
const BOOT_MS = 1200;

async function killBoots(world: World, { pick, holdMs }: FaultPlan): Promise<Strike> {
  await world.killDaemon();
  const boots = 1 + (pick % MAX_KILLED_BOOTS);
  for (let boot = 0; boot < boots; boot += 1) {
    world.start();
    await pause((holdMs * (boot + 7) + pick) % BOOT_MS);
    await world.killDaemon();
  }
  await world.restart();
  return { did: `${boots} starts killed` };
}

async function freezeDaemon(world: World, { holdMs }: FaultPlan): Promise<Strike> {
  const { pid } = world.daemon;
  world.daemon.kill("SIGSTOP");
  try {
    await expectRefusal(world, "a second daemon", new RegExp(`pid ${pid}\\b.*already works on`));
    await pause(holdMs);
  } finally {
    world.daemon.kill("SIGCONT");
  }
  return { did: `${holdMs} ms` };
}

async function killAll(world: World): Promise<Strike> {
  await world.killDaemon();
  const processes = processesOf(world.user.root);
  for (const { pid } of processes) sendSignal(pid, "SIGKILL");
  await world.restart();
  return { did: `${processes.length} processes` };
}

async function stopDaemon(world: World, { pick }: FaultPlan): Promise<Strike> {
  const isHard = pick % 2 === 1;
  const { code } = await world.stopDaemon(...(isHard ? (["SIGTERM", "SIGINT"] as const) : (["SIGTERM"] as const)));
  // Both signals may arrive before the daemon has anything to stop.
  const expected = isHard ? [130, 143] : [0];
  if (code === null || !expected.includes(code)) {
    throw new FaultLoss(`a stopped daemon ended with code ${code ?? "none"}, not ${expected.join(" or ")}`);
  }
  const left = processesOf(world.user.root);
  if (left.length > 0) throw new FaultLoss(`a stopped daemon left ${JSON.stringify(left)}`);
  await world.restart();
  return { did: isHard ? "two signals" : "one signal" };
}

async function trackerAway(world: World, { holdMs }: FaultPlan): Promise<Strike> {
  const board = join(world.user.dir, "board");
  renameSync(board, `${board}.away`);
  await pause(holdMs);
  renameSync(`${board}.away`, board);
  return { did: `${holdMs} ms` };
}

/** A link is refused by the board, whoever the user is. */
async function ticketUnreadable(world: World, { holdMs, pick }: FaultPlan): Promise<Strike> {
  const { tickets } = world.plan;
  const ticket = tickets[pick % tickets.length]?.id ?? "";
  const path = join(world.user.dir, "board", `${ticket}.md`);
  const aside = join(world.chaosDir, `${ticket}.aside`);
  renameSync(path, aside);
  symlinkSync(aside, path);
  await pause(holdMs);
  rmSync(path);
  renameSync(aside, path);
  return { did: `${ticket} for ${holdMs} ms` };
}

/** What the log says once a write has failed. */
const CANT_WRITE = /"msg":"(the ledger can't be written|events can't be written|run step failed|recording the end)/;

/** With nothing left to do nothing is written; then nobody can notice. */
async function noticeFullDisk(world: World): Promise<boolean> {
  const before = world.log.length;
  const deadline = performance.now() + 8000;
  while (!CANT_WRITE.test(world.log.slice(before))) {
    if (performance.now() > deadline) return false;
    await pause(LOOK_EVERY_MS);
  }
  return true;
}

async function fullDisk(world: World, { holdMs }: FaultPlan): Promise<Strike> {
  const { disk } = world;
  if (disk === null || typeof disk === "string") return { skipped: disk ?? "no disk was wanted" };
  disk.fill();
  const noticed = await noticeFullDisk(world);
  disk.fill();
  await pause(holdMs);
  disk.free();
  return noticed ? { did: `noticed, for ${holdMs} ms more` } : { missed: "nothing was written meanwhile" };
}

async function fullDiskKill(world: World, { holdMs }: FaultPlan): Promise<Strike> {
  const { disk } = world;
  if (disk === null || typeof disk === "string") return { skipped: disk ?? "no disk was wanted" };
  disk.fill();
  await noticeFullDisk(world);
  await world.killDaemon();
  disk.fill();
  const line = await expectRefusal(world, "a start without space", /space|disk|full/i);
  await pause(holdMs);
  disk.free();
  await world.restart();
  return { did: `refused with: ${line}` };
}

async function damagedLedger(world: World, { pick, holdMs }: FaultPlan): Promise<Strike> {
  const { ledger } = world;
  const names = Object.keys(DAMAGES);
  const name = names[pick % names.length] ?? "";
  const backup = join(world.chaosDir, "backup.db");
  backupLedger(ledger, backup);
  await pause(holdMs);
  await world.killDaemon();
  DAMAGES[name]?.(ledger);
  const before = digest(ledger);
  const line = await expectRefusal(world, `a ledger that is ${name}`, /ledger.*(restore a backup|move)/);
  if (digest(ledger) !== before) throw new FaultLoss(`a ledger that is ${name} was changed by the refused start`);
  for (const suffix of LEDGER_FILES) rmSync(`${ledger}${suffix}`, { force: true });
  copyFileSync(backup, ledger);
  rmSync(backup);
  await world.restart();
  return { did: `${name}; ${line}` };
}

const FAULTS_BY_KIND: Readonly<Record<FaultKind, Fault>> = {
  kill_daemon: async (world) => {
    await world.killDaemon();
    await world.restart();
    return { did: "killed and restarted" };
  },
  kill_boots: killBoots,
  kill_launcher: strikeAt("launch", () => ["SIGKILL"]),
  kill_agent: strikeAt("agent", () => ["SIGKILL"]),
  freeze_agent: strikeAt("agent", ({ pick }) => (pick % 2 === 0 ? ["SIGSTOP"] : ["SIGSTOP", "SIGCONT"])),
  freeze_daemon: freezeDaemon,
  kill_all: killAll,
  stop_daemon: stopDaemon,
  tracker_away: trackerAway,
  ticket_unreadable: ticketUnreadable,
  full_disk: fullDisk,
  full_disk_kill: fullDiskKill,
  damaged_ledger: damagedLedger,
};

/** Faults whose moment doesn't come strike all the same. */
const MOMENT_PATIENCE_MS = 2500;

/** Waits for the fault's moment, and strikes. Rejects with FaultLoss when something must have held meanwhile and didn't. */
export async function strike(world: World, plan: FaultPlan): Promise<Strike> {
  await world.reach(plan.on, MOMENT_PATIENCE_MS);
  await pause(plan.delayMs);
  return FAULTS_BY_KIND[plan.kind](world, plan);
}
