/** The tracker on a folder of Markdown tickets. */
import { AppError } from "../../domain/errors.ts";
import { issueId, type IssueId } from "../../domain/ids.ts";
import { normalizeLabels, normalizeState, type Blocker, type Issue } from "../../domain/issue.ts";
import type { Log } from "../../lib/log.ts";
import type { MalformedTicket, Tracker } from "../port.ts";
import type { TrackerDeps } from "../registry.ts";
import { createBoard, type Board, type TicketEntry } from "./board.ts";
import type { LocalProvider } from "./descriptor.ts";
import { readBoardPicture } from "./picture.ts";
import type { Ticket } from "./ticket-file.ts";
import { createLocalBoardTool } from "./tool.ts";

type Entries = ReadonlyMap<string, TicketEntry>;

/** The state in which an open blocker holds a ticket back; work that has begun goes on. */
const GATED_STATE = "todo";

function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** Reads back what the descriptor has put into the settings. */
function providerOf(provider: Readonly<Record<string, unknown>>): LocalProvider {
  const { path, states } = provider;
  if (!isString(path)) {
    throw new AppError(
      "invalid_tracker_config",
      "tracker.provider.path: is missing; give the folder that holds the tickets",
    );
  }
  return { path, states: Array.isArray(states) ? states.filter(isString) : [] };
}

interface Warnings {
  /** Says what is wrong with a malformed ticket; a mended one may be warned of again. */
  check(entry: TicketEntry): void;
  unknownBlocker(of: TicketEntry, name: string): void;
}

/** Remembers what it has said, so that a tick in which nothing changed says nothing. */
function createWarnings(log: Log): Warnings {
  const said = new Map<string, string>();
  const once = (key: string, content: string, say: () => void): void => {
    if (said.get(key) === content) return;
    said.set(key, content);
    say();
  };
  return {
    check({ name, path, content }) {
      if (content.ok) {
        said.delete(name);
        return;
      }
      const { line, reason } = content.problem;
      once(name, content.digest, () => {
        log.warn({ issue_id: name, issue_identifier: name, file: path, line, reason }, "malformed ticket skipped");
      });
    },
    unknownBlocker(of, name) {
      once(`${of.name}/${name}`, "", () => {
        log.warn(
          { issue_id: of.name, issue_identifier: of.name, file: of.path, blocker: name },
          "ticket waits for a blocker that is not on the board; correct its blocked_by",
        );
      });
    },
  };
}

interface Reader {
  readonly board: Board;
  readonly terminal: ReadonlySet<string>;
  /** Every state that means something on this board, as it is spelled. */
  readonly states: readonly string[];
  readonly warnings: Warnings;
}

function blockersOf(ticket: Ticket, entries: Entries): Blocker[] {
  return ticket.blockedBy.map((identifier) => {
    const entry = entries.get(identifier);
    if (entry === undefined) return { id: null, identifier, state: null };
    return { id: entry.name, identifier, state: entry.content.ok ? entry.content.ticket.state : null };
  });
}

/** A blocker of unknown state holds the ticket: a slip in `blocked_by` must not start work too early. */
function isOpen(blocker: Blocker, terminal: ReadonlySet<string>): boolean {
  return blocker.state === null || !terminal.has(normalizeState(blocker.state));
}

function toIssue(entry: TicketEntry, ticket: Ticket, entries: Entries, reader: Reader): Issue {
  const blockedBy = blockersOf(ticket, entries);
  const isGated = normalizeState(ticket.state) === GATED_STATE;
  if (isGated) {
    for (const { id, identifier } of blockedBy) {
      if (id === null && identifier !== null) reader.warnings.unknownBlocker(entry, identifier);
    }
  }
  return {
    id: issueId(entry.name),
    identifier: entry.name,
    title: ticket.title,
    state: ticket.state,
    description: ticket.description,
    branch_name: ticket.branchName,
    url: ticket.url,
    assignee_id: ticket.assigneeId,
    priority: ticket.priority,
    labels: normalizeLabels(ticket.labels),
    blocked_by: blockedBy,
    dispatchable: !(isGated && blockedBy.some((blocker) => isOpen(blocker, reader.terminal))),
    native_ref: { file: entry.path },
    created_at: ticket.createdAt ?? entry.bornAt,
    updated_at: entry.changedAt,
  };
}

/** Every ticket that no list of states will ever hold: it can't be read, or its state is a slip. */
function findMalformed(entries: Entries, { states }: Reader): readonly MalformedTicket[] {
  const known = new Set(states.map(normalizeState));
  return [...entries.values()].flatMap(({ name: identifier, path, content }): readonly MalformedTicket[] => {
    if (!content.ok) {
      const { line, reason } = content.problem;
      return [{ identifier, where: `${path}:${line}`, reason, title: null, state: null }];
    }
    const { title, state } = content.ticket;
    if (known.has(normalizeState(state))) return [];
    const reason = `state ${state} is none of ${states.join(", ")}; correct it, or name it in tracker.provider.states`;
    return [{ identifier, where: path, reason, title, state }];
  });
}

function pickByStates(names: readonly string[], entries: Entries, reader: Reader): Issue[] {
  const wanted = new Set(names.map(normalizeState));
  const issues: Issue[] = [];
  for (const entry of entries.values()) {
    reader.warnings.check(entry);
    if (!entry.content.ok) continue;
    const { ticket } = entry.content;
    if (wanted.has(normalizeState(ticket.state))) issues.push(toIssue(entry, ticket, entries, reader));
  }
  return issues;
}

/** Those of the ids that are on the board, and those whose file can't be read. */
function pickByIds(
  ids: readonly IssueId[],
  entries: Entries,
  reader: Reader,
): { readonly issues: readonly Issue[]; readonly unreadable: readonly TicketEntry[] } {
  const issues: Issue[] = [];
  const unreadable: TicketEntry[] = [];
  for (const id of new Set<string>(ids)) {
    const entry = entries.get(id);
    if (entry === undefined) continue;
    if (entry.content.ok) issues.push(toIssue(entry, entry.content.ticket, entries, reader));
    else unreadable.push(entry);
  }
  return { issues, unreadable };
}

/** As {@link pickByIds}, for those who need an answer to each: one that can't be read fails them all. */
function demandByIds(ids: readonly IssueId[], entries: Entries, reader: Reader): readonly Issue[] {
  const { issues, unreadable } = pickByIds(ids, entries, reader);
  for (const { name, path, content } of unreadable) {
    if (content.ok) continue;
    const { line, reason } = content.problem;
    throw new AppError("tracker_response", `${path}:${line}: ${reason}`, { issueId: name, path, line });
  }
  return issues;
}

/** Reads only the tickets asked for, and what blocks them. The folder is always listed: a board that is gone is no empty board. */
async function loadByIds(ids: readonly IssueId[], board: Board, signal?: AbortSignal): Promise<Entries> {
  const names = new Set(await board.list(signal));
  const asked = await board.load(
    ids.filter((id) => names.has(id)),
    signal,
  );
  const blockers = [...asked.values()].flatMap((entry) => (entry.content.ok ? entry.content.ticket.blockedBy : []));
  const others = await board.load(
    blockers.filter((name) => names.has(name) && !asked.has(name)),
    signal,
  );
  return new Map([...others, ...asked]);
}

async function loadAll(board: Board, signal?: AbortSignal): Promise<Entries> {
  return board.load(await board.list(signal), signal);
}

/** The adapter for `tracker.kind: local`. Reads nothing before its first call. */
export async function createLocalTracker(deps: TrackerDeps): Promise<Tracker> {
  const { settings, clock, log } = deps;
  const provider = providerOf(settings.tracker.provider);
  const board = createBoard(provider.path, clock);
  const states = [...settings.tracker.activeStates, ...settings.tracker.terminalStates, ...provider.states];
  const reader: Reader = {
    board,
    terminal: new Set(settings.tracker.terminalStates.map(normalizeState)),
    states,
    warnings: createWarnings(log),
  };
  let malformed: readonly MalformedTicket[] = [];
  const listAll = async (signal?: AbortSignal): Promise<Entries> => {
    const entries = await loadAll(board, signal);
    malformed = findMalformed(entries, reader);
    return entries;
  };
  return {
    kind: "local",
    tools: [createLocalBoardTool({ board, clock, states, firstState: settings.tracker.activeStates[0] ?? "Todo" })],
    async fetchIssuesByStates(names, signal) {
      if (names.length === 0) return [];
      return pickByStates(names, await listAll(signal), reader);
    },
    async fetchIssuesByIds(ids, signal) {
      if (ids.length === 0) return [];
      return demandByIds(ids, await loadByIds(ids, board, signal), reader);
    },
    async poll({ states: names, ids }, signal) {
      if (names.length === 0 && ids.length === 0) return { candidates: [], tracked: [], unreadable: [] };
      const entries = names.length === 0 ? await loadByIds(ids, board, signal) : await listAll(signal);
      const candidates = names.length === 0 ? [] : pickByStates(names, entries, reader);
      const { issues, unreadable } = pickByIds(ids, entries, reader);
      return { candidates, tracked: issues, unreadable: unreadable.map(({ name }) => issueId(name)) };
    },
    malformed: () => malformed,
    fetchImage: (reference, options) => readBoardPicture(provider.path, reference, options),
    async close() {
      // Holds nothing: every read opens and closes its own files.
    },
  };
}
