/** Gets a run its session: the checked workspace, the tools with their audit, and whoever listens. */
import type { WorkspaceRecord } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import type { Controls } from "./controls.ts";
import type { AgentBackend, AgentSession, SessionRequest } from "./port.ts";
import { outcomeOfError } from "./run-outcomes.ts";
import type { RunJournal, RunListener, RunRequest } from "./run-port.ts";
import type { RunState } from "./run-state.ts";
import { createSessionListener } from "./session-listener.ts";
import { parseBinding, type ThreadBinding } from "./thread-binding.ts";
import { createToolRunner, type ToolRunner } from "./tools.ts";

export interface OpenSessionDeps {
  readonly request: RunRequest;
  readonly listener: RunListener;
  readonly journal: RunJournal;
  readonly controls: Controls;
  readonly state: RunState;
  readonly clock: Clock;
  readonly workspaces: Workspaces;
  readonly backend: AgentBackend;
  readonly log: Log;
  /** Ends what earlier runs of the issue may have left running, this one's left alone; answers how many processes. */
  reapEarlier(issueId: IssueId, current: RunId): Promise<number>;
}

/** Rejects with SessionStartError, or with what is wrong with the workspace. */
export async function openSession(deps: OpenSessionDeps, workspace: WorkspaceRecord): Promise<AgentSession> {
  const { request, listener, journal, controls, state, clock } = deps;
  const { runId, settings, issue, threadId, tools } = request;
  state.enter("launching");
  await deps.workspaces.verify(workspace.path, settings.workspace.root, workspace);
  let session: AgentSession | null = null;
  const opened = await deps.backend.open({
    settings,
    workspacePath: workspace.path,
    issue,
    threadId,
    binding: keptBinding(deps),
    ...overrides(request),
    endEarlier: () => endEarlier(deps),
    runMarker: runId,
    tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    grants: controls.grants,
    callTool: toolRunner(deps),
    signal: state.signal,
    listener: createSessionListener({
      request,
      listener,
      journal,
      clock,
      turn: () => state.turn,
      binding: () => session?.binding ?? {},
      turnStarted: () => controls.turnStarted(),
      fail: (error) => state.decide(outcomeOfError(error)),
    }),
  });
  session = opened;
  controls.attach(opened);
  return opened;
}

/** What the ledger knows of the bound thread; of another one it says nothing. */
function keptBinding({ request, journal }: OpenSessionDeps): ThreadBinding | null {
  const kept = journal.threadBinding(request.issue.id);
  return kept === null || kept.threadId !== request.threadId ? null : parseBinding(kept.binding);
}

function overrides({ model, effort, developerInstructions }: RunRequest): Partial<SessionRequest> {
  return {
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(developerInstructions === undefined ? {} : { developerInstructions }),
  };
}

async function endEarlier({ request, log, reapEarlier }: OpenSessionDeps): Promise<void> {
  const { issue, runId, threadId } = request;
  try {
    const processes = await reapEarlier(issue.id, runId);
    log.warn({ thread_id: threadId, processes }, "the bound thread is in use; ended what earlier runs had left");
  } catch (error) {
    log.error({ err: error }, "ending processes of earlier runs failed");
  }
}

function toolRunner({ request, journal, state, clock, log }: OpenSessionDeps): ToolRunner {
  const { runId, tools } = request;
  return createToolRunner({
    tools,
    clock,
    log,
    issue: () => state.lastIssue,
    signal: state.signal,
    audit: {
      toolIntended: (call) => journal.toolIntended({ ...call, runId, turn: state.turn, at: clock.now() }),
      toolEnded: ({ callId, ok, durationMs, bytes }) =>
        journal.toolEnded({ runId, callId, ok, durationMs, bytes, at: clock.now() }),
    },
  });
}
