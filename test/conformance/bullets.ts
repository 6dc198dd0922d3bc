/** What the public specification asks for, section by section, and what we add: each line is the title of the test that shows it. */

/** A bullet of the specification's test matrix; `ours` marks what goes further than it. */
export interface Bullet {
  readonly title: string;
  readonly ours?: true;
}

function spec(...titles: readonly string[]): readonly Bullet[] {
  return titles.map((title) => ({ title }));
}

function ours(...titles: readonly string[]): readonly Bullet[] {
  return titles.map((title) => ({ title, ours: true }));
}

/** By section number, in the specification's order. A test of section N is in a file whose name starts with N. */
export const BULLETS: Readonly<Record<string, { readonly name: string; readonly bullets: readonly Bullet[] }>> = {
  "17.1": {
    name: "Workflow and configuration",
    bullets: [
      ...spec(
        "an explicit path is used when it is given",
        "WORKFLOW.md in the current directory is used when no path is given",
        "a changed file is read again and applied without a restart",
        "an invalid reload keeps the last good configuration and is visible to the operator",
        "a missing file is the error missing_workflow_file",
        "invalid YAML is the error workflow_parse_error",
        "front matter that is no map is the error workflow_front_matter_not_a_map",
        "a file without front matter is all prompt",
        "defaults apply where values are missing",
        "tracker.kind is one of the supported kinds",
        "the tracker's key is taken as it is written, or from an environment variable",
        "$VAR is resolved where it is the whole value and in paths, and neither in commands nor in URLs",
        "~ in a path is the home directory",
        "codex.command stays the shell string that it is",
        "per-state caps have normalized names, and invalid ones are ignored",
        "an unknown key is ignored, with a warning",
        "the template renders issue and attempt",
        "rendering fails on an unknown variable and on an unknown filter",
        "a template that can't be parsed is the error template_parse_error",
      ),
      ...ours(
        "a name that no issue has is an error at load already, in branches that are never taken too",
        "an empty body gets a prompt of our own",
        "a relative workspace root is anchored at the file's folder",
        "the environment never overrides a value of the file",
        "Linear's keys are taken without provider too, as older files have them",
      ),
    ],
  },
  "17.2": {
    name: "Workspaces and hooks",
    bullets: [
      ...spec(
        "an identifier always has the same path, directly inside the root",
        "an identifier is sanitized before it becomes a path",
        "a missing directory is created",
        "an existing directory is used again, with what is in it",
        "something else at the path fails the run and is left alone",
        "after_create runs only when the directory is new",
        "a failing after_create fails the run and takes the half-made directory away, and the next run creates it again",
        "before_run runs before each run",
        "a failing before_run ends the run before the agent starts",
        "after_run runs after each run, and its failure is logged and ignored",
        "before_remove runs before a removal, and its failure is logged and ignored",
        "a hook that takes too long is ended with all that it started, and then counts as failed",
        "a path outside the root is refused before the agent starts",
        "the agent starts in the issue's workspace",
      ),
      ...ours(
        "identifiers that sanitize alike have different paths",
        "an identifier that is no name for a directory is refused",
        "a link out of the root is refused, when preparing, before the agent starts and when removing",
        "a hook knows its ticket by the environment alone",
        "a workspace of another issue or of another daemon is never touched",
      ),
    ],
  },
  "17.3": {
    name: "Tracker client",
    bullets: [
      ...spec(
        "candidates are read by active states and project slug",
        "the project is filtered by slugId",
        "no states and no ids are answered without a request",
        "pages keep their order",
        "blockers come from inverse relations of type blocks",
        "labels are lower-cased",
        "a refresh by ids answers normalized issues, whatever their state",
        "ids are typed [ID!]",
        "a request that fails is tracker_request",
        "a status other than 200 is tracker_status",
        "GraphQL errors are tracker_response",
        "a malformed payload is tracker_response",
      ),
      ...ours(
        "a next page without a cursor is tracker_pagination",
        "an unsupported kind and a missing key are errors of their own",
        "ids are read in batches of fifty, completely or not at all",
        "an id outside of the scope is left out of a complete answer",
        "a throttled request is tracker_rate_limited with its reset time",
        "a malformed record is skipped with a warning in a list, and fails a refresh",
        "an issue of another assignee is listed and not dispatchable, and me is the key's owner",
        "a Todo issue with an open blocker is listed and not dispatchable",
      ),
    ],
  },
  "17.4": {
    name: "Dispatch, reconciliation and retry",
    bullets: [
      ...spec(
        "dispatch order is priority, then the oldest, then the identifier",
        "a Todo issue with an open blocker is not eligible",
        "a Todo issue whose blockers are terminal is eligible",
        "an active refresh updates the running entry",
        "a state that is not active stops the run and keeps the workspace",
        "a terminal state stops the run and removes the workspace",
        "reconciling nothing does nothing",
        "a run that ends well is continued after a second as attempt 1",
        "a run that fails is retried after 10 s, 20 s, 40 s",
        "the wait never exceeds agent.max_retry_backoff_ms",
        "a retry entry has attempt, due time, identifier and error",
        "a stalled run is stopped and retried",
        "without a free slot a retry waits with that reason",
        "the snapshot has running rows, retry rows, totals and rate limits",
        "a snapshot that can't be had is an error of its own",
        "workspaces of terminal issues are removed at start",
        "a failed query at start is only a warning",
      ),
      ...ours(
        "the first tick is at once",
        "an issue is looked at once more right before it starts",
        "a failed read changes nothing",
        "an id that a complete answer lacks stops its run and keeps the workspace",
        "required and excluded labels hold for running issues too",
        "caps by state hold",
        "a broken workflow stops dispatch, never reconciliation",
        "waiting for a slot, a pause or a shutdown costs no attempt",
        "claims come back after a restart",
        "a poison ticket never stops the others",
        "runs that change nothing are blocked in the end",
      ),
    ],
  },
  "17.5": {
    name: "App-server client",
    bullets: [
      ...spec(
        "the command is run by bash in the workspace",
        "the handshake is initialize, initialized, thread/start, turn/start",
        "initialize says who the client is and what it can do",
        "thread and turn carry the documented policies",
        "a session is announced with thread and turn",
        "a request that gets no answer times out",
        "a turn that falls silent times out",
        "a line is handled when it is whole",
        "stderr never meets the protocol",
        "approvals are settled by policy",
        "an unknown tool call is refused and the session goes on",
        "a question to the user never hangs the run",
        "token and rate-limit payloads are read from their nested shapes",
        "the tools are advertised at thread start",
        "linear_graphql runs with the daemon's credential",
        "linear_graphql answers GraphQL errors with success false and the body",
        "linear_graphql answers bad input and lost connections as structured failures",
      ),
      ...ours(
        "the first turn has the ticket, later turns only guidance on the same thread",
        "a run has at most agent.max_turns turns",
        "a failed turn is a failed run",
        "every unknown request of the agent is answered",
        "the tracker's key is nowhere in the agent's environment",
      ),
    ],
  },
  "17.6": {
    name: "Observability",
    bullets: [
      ...spec(
        "a validation failure is visible to the operator",
        "log lines carry issue and session",
        "a log that can't be written stops nothing",
        "repeated token reports are counted once",
        "the status is read from the orchestrator and changes nothing",
        "GET /api/v1/state answers the snapshot",
        "GET /api/v1/<identifier> answers one issue, or 404 issue_not_found",
        "POST /api/v1/refresh answers 202",
        "a wrong method is 405 with the error envelope",
        "GET / is a page for people",
      ),
      ...ours("a tracker that is down shows with its age and a clean error", "usage outlives a restart"),
    ],
  },
  "17.7": {
    name: "Command line and lifecycle",
    bullets: [
      ...spec(
        "the path of the workflow is a positional argument",
        "without a path ./WORKFLOW.md is used",
        "a missing file is one line and exit 1",
        "a failed start is one line and exit 1",
        "a clean stop exits with 0",
        "a killed daemon exits with another code",
        "--port wins over server.port",
      ),
      ...ours("a second daemon says who owns the first"),
    ],
  },
};
