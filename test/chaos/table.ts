/** The table at the end: what was struck, what came back, and what was lost. */
import { LOSSES, type LossKind } from "./checks.ts";
import { FAULTS, type FaultKind } from "./plan.ts";
import type { RoundResult } from "./round.ts";
import type { Strike } from "./faults.ts";

/** What became of a fault, for its round's line. */
export function tellStrike(strike: Strike): string {
  if ("skipped" in strike) return `SKIPPED: ${strike.skipped}`;
  return "missed" in strike ? `missed: ${strike.missed}` : strike.did;
}

function pad(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join("  ");
}

function layOut(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => `${pad(row, widths)}\n`).join("");
}

function faultRow(kind: FaultKind, rounds: readonly RoundResult[]): readonly string[] {
  const struck = rounds.flatMap(({ faults, losses }) =>
    faults.filter((fault) => fault.kind === kind).map(({ strike }) => ({ strike, isLost: losses.length > 0 })),
  );
  const skipped = struck.filter(({ strike }) => "skipped" in strike);
  const missed = struck.filter(({ strike }) => "missed" in strike);
  const done = struck.filter(({ strike }) => "did" in strike);
  const lost = done.filter(({ isLost }) => isLost).length;
  return [FAULTS[kind], ...[done.length, done.length - lost, lost, missed.length, skipped.length].map(String)];
}

/** Rounds, faults, figures and losses, for a person. */
export function summarize(rounds: readonly RoundResult[]): string {
  const kinds = Object.keys(FAULTS) as FaultKind[];
  const faults = layOut([
    ["FAULT", "STRUCK", "RECOVERED", "IN A ROUND WITH LOSSES", "MISSED", "SKIPPED"],
    ...kinds.map((kind) => faultRow(kind, rounds)),
  ]);
  const losses = layOut([
    ["LOSS", "COUNT"],
    ...(Object.keys(LOSSES) as LossKind[]).map((kind) => [
      LOSSES[kind],
      String(rounds.flatMap((round) => round.losses).filter((loss) => loss.kind === kind).length),
    ]),
  ]);
  const sum = (of: "done" | "waiting" | "runs" | "served" | "counted"): number =>
    rounds.reduce((total, { figures }) => total + (figures?.[of] ?? 0), 0);
  const skipped = [
    ...new Set(
      rounds.flatMap(({ faults: struck }) =>
        struck.flatMap(({ strike }) => ("skipped" in strike ? [strike.skipped] : [])),
      ),
    ),
  ];
  const totals =
    `${rounds.length} rounds: ${sum("done")} tickets done once, ${sum("waiting")} waiting for a person, ${sum("runs")} runs, ` +
    `${sum("served")} tokens served, ${sum("counted")} counted; ` +
    `${rounds.filter((round) => round.losses.length > 0).length} rounds with losses\n`;
  return `\n${faults}\n${losses}\n${skipped.map((reason) => `SKIPPED: ${reason}\n`).join("")}${totals}`;
}
