/** Rate limits as agents tell them, as rows: what is used, and when it begins anew. Their shape is the agent's, so nothing is taken for granted. */

export interface LimitRow {
  readonly name: string;
  readonly usedPercent: number;
  /** Epoch ms; null where none was told. */
  readonly resetsAt: number | null;
}

const MINUTES_PER_HOUR = 60;
const MINUTES_PER_DAY = 24 * MINUTES_PER_HOUR;

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null ? { ...value } : null;
}

/** The windows that say how much is used. */
export function limitRows(limits: unknown): readonly LimitRow[] {
  const fields = fieldsOf(limits);
  if (fields === null) return [];
  const name = typeof fields["limitId"] === "string" ? fields["limitId"] : "agent";
  return ["primary", "secondary"].flatMap((key) => {
    const window = fieldsOf(fields[key]);
    const used = window?.["usedPercent"];
    if (window === null || typeof used !== "number") return [];
    const resets = window["resetsAt"];
    const length = windowName(window["windowDurationMins"]) ?? key;
    // Epoch seconds on the wire.
    return [
      { name: `${name}, ${length}`, usedPercent: used, resetsAt: typeof resets === "number" ? resets * 1000 : null },
    ];
  });
}

function windowName(minutes: unknown): string | null {
  if (typeof minutes !== "number") return null;
  if (minutes >= MINUTES_PER_DAY) return `${Math.round(minutes / MINUTES_PER_DAY)} d`;
  return minutes >= MINUTES_PER_HOUR ? `${Math.round(minutes / MINUTES_PER_HOUR)} h` : `${minutes} min`;
}
