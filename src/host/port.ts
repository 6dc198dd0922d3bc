/** Where commands run. Local today; the interface is what another host would have to offer. */
import type { Readable, Writable } from "node:stream";

/** Enough to find a process again after a crash and to be sure that it is the same one. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly processGroup: number;
  /** The kernel's start time of the leader in clock ticks since boot with the boot id: a recycled pid has another one. */
  readonly startTime: string;
  /** Value of SYMPHONY_RUN_MARKER in the environment of everything that the run started. */
  readonly marker: string;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnRequest {
  /** A shell string, run by `bash -lc`; the login profile can reach neither the protocol pipes nor, afterwards, the environment. */
  readonly command: string;
  readonly cwd: string;
  /** The whole environment of the child; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly marker: string;
  /**
   * Puts the process on record. The command begins only after it has returned; when this daemon ends before, the command never
   * begins, and nothing is left of the process. Where it isn't given, the command begins at once.
   */
  record?(identity: ProcessIdentity): void;
}

/** A long-lived child in a process group of its own. */
export interface AgentProcess {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when the leader has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** The last bytes of stderr, for an error message. Never parsed. */
  stderrTail(): string;
  /** The stop ladder: end stdin, TERM, KILL, until nothing of the tree is left (zombies don't count). Safe to call again. */
  stop(): Promise<void>;
}

export interface ScriptRequest {
  /** Run by `bash -lc`, stdin from /dev/null. */
  readonly script: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Ends the whole tree when it aborts. */
  readonly signal?: AbortSignal;
  readonly marker: string;
}

export interface ScriptResult {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** stdout and stderr interleaved, the last OUTPUT_LIMIT bytes. */
  readonly output: string;
}

export interface Host {
  readonly name: string;
  /** Rejects with AppError `codex_not_found` when bash itself can't start; a command that bash can't find exits with 127. */
  spawn(request: SpawnRequest): Promise<AgentProcess>;
  /** Resolves when the script's whole tree has ended; never rejects for a failing script. */
  runScript(request: ScriptRequest): Promise<ScriptResult>;
  /**
   * Ends what is left of an earlier run: the tree of `identity` if its leader is still the same process, and whatever carries its
   * marker. A decoy with a recycled pid is never touched. Resolves with the number of processes ended when none is left.
   */
  reap(identity: ProcessIdentity): Promise<number>;
  /**
   * Ends whatever an earlier daemon of the same ledger started, known to the ledger or not, in one look at all processes. Only before
   * this host has started anything. Resolves with the number of processes ended when none is left.
   */
  reapAll(): Promise<number>;
}
