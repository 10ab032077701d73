-- What an agent does at set times. A row stays when its schedule is removed: runs name it.
CREATE TABLE schedules (
    id       INTEGER PRIMARY KEY,
    agent    TEXT NOT NULL,
    name     TEXT NOT NULL,
    -- When it runs, what is set for its runs, where the answer goes, and who made it: JSON that
    -- the store does not read.
    plan     TEXT NOT NULL,
    settings TEXT NOT NULL,
    target   TEXT NOT NULL,
    actor    TEXT NOT NULL,
    task     TEXT NOT NULL,
    created  INTEGER NOT NULL,
    -- The next run; nothing when none is to come.
    due      INTEGER,
    removed  INTEGER
) STRICT;

CREATE UNIQUE INDEX schedule_names ON schedules (agent, name) WHERE removed IS NULL;
CREATE INDEX due_schedules ON schedules (due) WHERE due IS NOT NULL AND removed IS NULL;

CREATE TABLE schedule_runs (
    id       INTEGER PRIMARY KEY,
    schedule INTEGER NOT NULL REFERENCES schedules (id),
    -- When it was to run; nothing where somebody ran it by hand.
    due      INTEGER,
    -- How many later times passed unseen: it stands for them, too.
    missed   INTEGER NOT NULL,
    begun    INTEGER NOT NULL,
    -- Who runs it; nobody once it has ended.
    owner    INTEGER,
    session  INTEGER,
    turn     INTEGER,
    ended    INTEGER,
    outcome  TEXT,
    detail   TEXT,
    -- What became of the answer where it was to go elsewhere.
    delivery TEXT
) STRICT;

CREATE INDEX runs_of_schedules ON schedule_runs (schedule, id);
CREATE INDEX open_schedule_runs ON schedule_runs (schedule) WHERE ended IS NULL;
