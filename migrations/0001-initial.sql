-- The ledger's first schema. Times are epoch milliseconds, flags 0 or 1. What each table is for: docs/ledger.md.

CREATE TABLE ledger (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- The daemon that last opened the ledger for writing; stopped_at is null while it runs, and after it was killed.
CREATE TABLE daemon (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  pid INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  stopped_at INTEGER
) STRICT;

CREATE TABLE issues (
  issue_id TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  data TEXT NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
CREATE INDEX issues_by_identifier ON issues (identifier, seen_at);

CREATE TABLE claims (
  issue_id TEXT PRIMARY KEY REFERENCES issues (issue_id),
  kind TEXT NOT NULL CHECK (kind IN ('running', 'waiting', 'blocked', 'cleaning')),
  run_id TEXT,
  thread_id TEXT,
  due_at INTEGER,
  why TEXT,
  data TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workspaces (
  issue_id TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  path TEXT NOT NULL,
  host TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE pauses (
  kind TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  until INTEGER,
  data TEXT NOT NULL
) STRICT;

CREATE TABLE threads (
  issue_id TEXT PRIMARY KEY,
  thread_id TEXT NOT NULL,
  binding TEXT NOT NULL,
  bound_at INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  issue_id TEXT NOT NULL,
  issue_identifier TEXT NOT NULL,
  attempt INTEGER,
  thread_id TEXT,
  outcome TEXT,
  class TEXT,
  error TEXT,
  changed INTEGER CHECK (changed IN (0, 1)),
  turns INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX runs_by_issue ON runs (issue_id, started_at);
CREATE INDEX runs_by_start ON runs (started_at);
CREATE INDEX runs_open ON runs (run_id) WHERE ended_at IS NULL;

CREATE TABLE turns (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  intent_id TEXT NOT NULL,
  thread_id TEXT,
  turn_id TEXT,
  status TEXT,
  error TEXT,
  intended_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  PRIMARY KEY (run_id, turn)
) STRICT, WITHOUT ROWID;

-- One row for each process tree that a run began. Rows without ended_at are reaped at the next start.
CREATE TABLE processes (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  pid INTEGER NOT NULL,
  process_group INTEGER NOT NULL,
  start_time TEXT NOT NULL,
  marker TEXT NOT NULL,
  spawned_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (run_id, pid, start_time)
) STRICT, WITHOUT ROWID;
CREATE INDEX processes_open ON processes (run_id) WHERE ended_at IS NULL;

CREATE TABLE tool_calls (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  call_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  name TEXT NOT NULL,
  intended_at INTEGER NOT NULL,
  ended_at INTEGER,
  ok INTEGER CHECK (ok IN (0, 1)),
  duration_ms INTEGER,
  bytes INTEGER,
  PRIMARY KEY (run_id, call_id)
) STRICT, WITHOUT ROWID;

-- The last absolute total that a thread's source reported: growth is counted over it.
CREATE TABLE token_marks (
  thread_id TEXT PRIMARY KEY,
  issue_id TEXT NOT NULL,
  sub_agent INTEGER NOT NULL CHECK (sub_agent IN (0, 1)),
  input INTEGER NOT NULL,
  cached_input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Counted growth, by run, turn, thread and UTC day: the one source of every token figure.
CREATE TABLE token_usage (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  day TEXT NOT NULL,
  issue_id TEXT NOT NULL,
  input INTEGER NOT NULL,
  cached_input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  PRIMARY KEY (run_id, turn, thread_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX token_usage_by_issue ON token_usage (issue_id);
CREATE INDEX token_usage_by_day ON token_usage (day);

-- What agents did, coarsely: the newest rows of each run.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  issue_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  event TEXT NOT NULL,
  message TEXT
) STRICT;
CREATE INDEX events_by_run ON events (run_id, id);
CREATE INDEX events_by_issue ON events (issue_id, id);
