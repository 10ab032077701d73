-- The first form of the database.
--
-- Times are microseconds since 1970. A column that may hold a long text holds it
-- as it is, or as a zstd frame where that is shorter.

CREATE TABLE sessions (
    id       INTEGER PRIMARY KEY,
    name     TEXT,
    agent    TEXT NOT NULL,
    surface  TEXT NOT NULL,
    created  INTEGER NOT NULL,
    archived INTEGER,
    settings TEXT NOT NULL,
    carry    TEXT,
    -- Another number whenever its items change.
    items    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Archived sessions keep their names, and open ones may have them again.
CREATE UNIQUE INDEX open_session_names ON sessions (name) WHERE archived IS NULL;
CREATE INDEX archived_session_names ON sessions (name) WHERE archived IS NOT NULL;

-- The key is a JSON array of its parts, so that no part can pose as two.
CREATE TABLE bindings (
    key     TEXT PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_items (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    item    TEXT NOT NULL,
    state   TEXT NOT NULL,
    UNIQUE (session, item)
) STRICT;

CREATE TABLE turns (
    id            INTEGER PRIMARY KEY,
    session       INTEGER NOT NULL REFERENCES sessions (id),
    number        INTEGER NOT NULL,
    status        TEXT NOT NULL,
    -- Who runs it or will run it; nobody once it has ended.
    owner         INTEGER,
    sender        TEXT,
    -- What holds for this turn alone; nothing where that is nothing.
    settings      TEXT,
    -- What was received, until it stands in the transcript.
    inbound       BLOB,
    accepted      INTEGER NOT NULL,
    started       INTEGER,
    ended         INTEGER,
    first_message INTEGER,
    -- The state of the running turn; nothing once it has ended.
    state         BLOB,
    detail        TEXT,
    UNIQUE (session, number)
) STRICT;

CREATE INDEX open_turns ON turns (session, id) WHERE ended IS NULL;

CREATE TABLE messages (
    position INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL REFERENCES sessions (id),
    id       INTEGER NOT NULL,
    turn     INTEGER REFERENCES turns (id),
    at       INTEGER NOT NULL,
    body     BLOB NOT NULL,
    UNIQUE (session, id)
) STRICT;

-- Texts, each once, by the first half of their hash. What is read is checked
-- against the whole.
CREATE TABLE parts (
    id   INTEGER PRIMARY KEY,
    key  BLOB NOT NULL UNIQUE,
    data BLOB NOT NULL
) STRICT;

-- A document is kept as its difference from its parent's, if it has one. Its
-- place is counted from the last one that has none.
CREATE TABLE requests (
    id          INTEGER PRIMARY KEY,
    turn        INTEGER NOT NULL REFERENCES turns (id),
    number      INTEGER NOT NULL,
    parent      INTEGER REFERENCES requests (id) CHECK (parent < id),
    place       INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    document    BLOB NOT NULL,
    body_hash   BLOB NOT NULL,
    body_length INTEGER NOT NULL,
    -- What came back.
    ended       INTEGER,
    reply       INTEGER,
    prompt      INTEGER,
    cached      INTEGER,
    completion  INTEGER,
    result      BLOB,
    UNIQUE (turn, number)
) STRICT;

CREATE TABLE calibrations (
    model TEXT PRIMARY KEY,
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
