/** Gets a run its session: the checked workspace, the tools with their audit, and whoever listens. */
import type { WorkspaceRecord } from "../domain/claim.ts";
import type { Clock } from "../lib/clock.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import type { Controls } from "./controls.ts";
import type { AgentBackend, AgentSession } from "./port.ts";
import { outcomeOfError } from "./run-outcomes.ts";
import type { RunJournal, RunListener, RunRequest } from "./run-port.ts";
import type { RunState } from "./run-state.ts";
import { createSessionListener } from "./session-listener.ts";
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
}

/** Rejects with SessionStartError, or with what is wrong with the workspace. */
export async function openSession(deps: OpenSessionDeps, workspace: WorkspaceRecord): Promise<AgentSession> {
  const { request, listener, journal, controls, state, clock } = deps;
  const { runId, settings, issue, threadId, tools } = request;
  state.enter("launching");
  await deps.workspaces.verify(workspace.path, settings.workspace.root, workspace);
  const session = await deps.backend.open({
    settings,
    workspacePath: workspace.path,
    issue,
    threadId,
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
      turnStarted: () => controls.turnStarted(),
      fail: (error) => state.decide(outcomeOfError(error)),
    }),
  });
  controls.attach(session);
  return session;
}

function toolRunner({ request, journal, state, clock }: OpenSessionDeps): ToolRunner {
  const { runId, tools } = request;
  return createToolRunner({
    tools,
    clock,
    issue: () => state.lastIssue,
    signal: state.signal,
    audit: {
      toolIntended: (call) => journal.toolIntended({ ...call, runId, turn: state.turn, at: clock.now() }),
      toolEnded: ({ callId, ok, durationMs, bytes }) =>
        journal.toolEnded({ runId, callId, ok, durationMs, bytes, at: clock.now() }),
    },
  });
}
