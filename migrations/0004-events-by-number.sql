-- Events and their items in one row, found by short numbers instead of by long ids: a row was written twice, and its ids six times.

-- Numbers rise in the order in which runs begin to tell; an issue has one run at a time, so its events are in the order of (run, id).
CREATE TABLE event_runs (
  number INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE REFERENCES runs (run_id) ON DELETE CASCADE,
  issue_id TEXT NOT NULL
) STRICT;
INSERT INTO event_runs (run_id, issue_id)
  SELECT run_id, issue_id FROM (
    SELECT run_id, issue_id, MIN(id) AS first FROM events GROUP BY run_id
    UNION ALL SELECT run_id, issue_id, MIN(id) FROM items GROUP BY run_id)
  GROUP BY run_id ORDER BY MIN(first);
CREATE INDEX event_runs_by_issue ON event_runs (issue_id);

-- What items came from; empty strings where the agent named no thread or no turn.
CREATE TABLE event_turns (
  number INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  UNIQUE (thread_id, turn_id)
) STRICT;
INSERT INTO event_turns (thread_id, turn_id) SELECT thread_id, turn_id FROM items GROUP BY thread_id, turn_id ORDER BY MIN(id);

CREATE TABLE numbered_events (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES event_runs (number) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  event TEXT NOT NULL,
  message TEXT,
  -- The item, where the event stands for one: the number of its turn, its id there, and what it says in full.
  turn INTEGER,
  item_id TEXT,
  data TEXT,
  CHECK ((turn IS NULL) = (item_id IS NULL) AND (turn IS NULL) = (data IS NULL))
) STRICT;
INSERT INTO numbered_events
  SELECT e.id, r.number, e.at, e.event, e.message, t.number, i.item_id, i.data
  FROM events AS e JOIN event_runs AS r ON r.run_id = e.run_id
    LEFT JOIN items AS i ON i.id = e.id
    LEFT JOIN event_turns AS t ON t.thread_id = i.thread_id AND t.turn_id = i.turn_id
  ORDER BY e.id;
-- Items outlived their events.
INSERT INTO numbered_events
  SELECT i.id, r.number, i.at, CASE i.kind WHEN 'question' THEN 'question_asked' WHEN 'answer' THEN 'question_answered' ELSE i.kind END,
    NULL, t.number, i.item_id, i.data
  FROM items AS i JOIN event_runs AS r ON r.run_id = i.run_id
    JOIN event_turns AS t ON t.thread_id = i.thread_id AND t.turn_id = i.turn_id
  WHERE NOT EXISTS (SELECT 1 FROM events AS e WHERE e.id = i.id);

DROP TABLE items;
DROP TABLE events;
ALTER TABLE numbered_events RENAME TO events;
CREATE INDEX events_by_run ON events (run, id);
CREATE UNIQUE INDEX events_by_origin ON events (turn, item_id) WHERE turn IS NOT NULL;
CREATE INDEX events_questions ON events (id) WHERE event = 'question_asked';
