/** Numbers, times and links as people read them. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const wholeNumber = new Intl.NumberFormat("en-US");

/** `12,345`. */
export function formatCount(value: number): string {
  return wholeNumber.format(Math.round(value));
}

/** Three digits are enough to compare by: `999`, `12.3k`, `1.24M`. */
export function formatTokens(value: number): string {
  if (value < 1000) return String(Math.round(value));
  const [scaled, unit] = value < 999_500 ? [value / 1000, "k"] : [value / 1_000_000, "M"];
  let digits = 0;
  if (scaled < 10) digits = 2;
  else if (scaled < 100) digits = 1;
  return `${scaled.toFixed(digits)}${unit}`;
}

/** `$0.42`; a dash where a model has no price. */
export function formatDollars(value: number | null): string {
  if (value === null) return "–";
  return value > 0 && value < 0.01 ? "<$0.01" : `$${value.toFixed(2)}`;
}

/** The two largest units: `42 s`, `3 min 12 s`, `2 h 5 min`, `3 d 4 h`. Never negative: clocks differ a little. */
export function formatDuration(ms: number): string {
  const left = Math.max(0, ms);
  if (left < MINUTE) return `${Math.floor(left / SECOND)} s`;
  if (left < HOUR) return pair(left, [MINUTE, "min"], [SECOND, "s"]);
  if (left < DAY) return pair(left, [HOUR, "h"], [MINUTE, "min"]);
  return pair(left, [DAY, "d"], [HOUR, "h"]);
}

function pair(ms: number, large: readonly [number, string], small: readonly [number, string]): string {
  const rest = Math.floor((ms % large[0]) / small[0]);
  const head = `${Math.floor(ms / large[0])} ${large[1]}`;
  return rest === 0 ? head : `${head} ${rest} ${small[1]}`;
}

/** A moment ahead: `in 3 min`, or `now` when it has come. */
export function formatUntil(at: number, now: number): string {
  return at - now < SECOND ? "now" : `in ${formatDuration(at - now)}`;
}

/** The local date and time, without the date on the same day. */
export function formatMoment(at: number, now: number): string {
  const then = new Date(at);
  const time = then.toLocaleTimeString("en-GB");
  return then.toDateString() === new Date(now).toDateString() ? time : `${formatDay(then)} ${time.slice(0, 5)}`;
}

function formatDay(date: Date): string {
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** Names of the API as words: `no_progress` is "no progress". */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

const PHASES: Readonly<Record<string, string>> = {
  preparing: "preparing",
  launching: "starting the agent",
  turn: "in a turn",
  between: "between turns",
  finishing: "finishing",
};

/** Where a run is, as words. */
export function phaseText(phase: string): string {
  return PHASES[phase] ?? words(phase);
}

/** What a person would have typed, of a command that an agent gave to a shell in one argument. */
export function plainCommand(command: string): string {
  const quoted = /^(?:\/\S*\/)?(?:ba|z)?sh -l?c '(.*)'$/s.exec(command)?.[1];
  return quoted?.replaceAll("'\\''", "'") ?? command;
}

/** A path as seen from the workspace; one outside of it stays whole. */
export function pathWithin(path: string, workspace: string | null): string {
  return workspace !== null && path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
}

/** A ticket's address, when a browser may follow it: a tracker's text could be any scheme. */
export function safeUrl(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : null;
}
