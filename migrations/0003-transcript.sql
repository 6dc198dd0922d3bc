-- What agents said and did, in full (capped): once per thread, turn and item, however often it is told.
-- The id is that of the event that told it, so that both are read in one order.

CREATE TABLE items (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  issue_id TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  -- Empty where the agent named no turn.
  turn_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX items_by_origin ON items (thread_id, turn_id, item_id);
CREATE INDEX items_by_run ON items (run_id, id);
CREATE INDEX items_questions ON items (id) WHERE kind = 'question';

-- Pages of runs by what they are filtered by, and the time of ended runs.
CREATE INDEX runs_by_outcome ON runs (outcome, started_at);
CREATE INDEX runs_by_identifier ON runs (issue_identifier, started_at);
CREATE INDEX issues_by_sight ON issues (seen_at);
