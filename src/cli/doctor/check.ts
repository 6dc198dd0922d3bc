/** One thing that is looked at before a daemon is trusted with a board, and what came of it. */

export interface Check {
  readonly name: string;
  /** `warn` doesn't keep a daemon from working; `skip`: it couldn't be looked at, because of what failed before. */
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly message: string;
  /** What to do about it; null where nothing has to be done. */
  readonly mend: string | null;
}

export function ok(name: string, message: string): Check {
  return { name, status: "ok", message, mend: null };
}

export function warn(name: string, message: string, mend: string | null): Check {
  return { name, status: "warn", message, mend };
}

export function fail(name: string, message: string, mend: string | null): Check {
  return { name, status: "fail", message, mend };
}

export function skip(name: string, message: string): Check {
  return { name, status: "skip", message, mend: null };
}
