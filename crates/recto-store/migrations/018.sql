-- The number of a question is never given twice: a button that still stands in some chat must not
-- answer another one.
CREATE TABLE numbered_approvals (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     INTEGER NOT NULL REFERENCES sessions (id),
    turn        INTEGER NOT NULL REFERENCES turns (id),
    -- The round of calls within the turn, and the call's place in it: models
    -- use the same identity for more than one call.
    round       INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    tool        TEXT NOT NULL,
    title       TEXT NOT NULL,
    detail      BLOB NOT NULL,
    -- Of what the person was shown and what would be done.
    action      BLOB NOT NULL,
    -- Of what the tool is: what is allowed for a session is this.
    identity    BLOB NOT NULL,
    -- 1 where only this very call can be allowed.
    single      INTEGER NOT NULL,
    asked       INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    answer      TEXT,
    answered    INTEGER,
    -- Nobody where a question ended without an answer.
    answered_by TEXT,
    -- What the tool would do, as fields.
    fields      BLOB,
    UNIQUE (turn, round, place)
) STRICT;
INSERT INTO numbered_approvals
    (id, session, turn, round, place, tool, title, detail, action, identity, single, asked,
     expires, answer, answered, answered_by, fields)
SELECT id, session, turn, round, place, tool, title, detail, action, identity, single, asked,
       expires, answer, answered, answered_by, fields
FROM approvals;
DROP TABLE approvals;
ALTER TABLE numbered_approvals RENAME TO approvals;
CREATE INDEX open_approvals ON approvals (id) WHERE answer IS NULL;
CREATE INDEX session_leave ON approvals (session) WHERE answer = 'session';

-- The update for which a code was given, and the one that was told to wait: who deals with it
-- again says the same again.
ALTER TABLE pairings ADD COLUMN request TEXT;
ALTER TABLE pairings ADD COLUMN reminder TEXT;
-- What is delivered once they are let in: JSON.
ALTER TABLE pairings ADD COLUMN welcome TEXT;

-- The process that said it.
ALTER TABLE channel_health ADD COLUMN owner INTEGER;

-- What a service needs beside the number to go on from there: JSON that the store does not read.
ALTER TABLE channel_cursors ADD COLUMN resume TEXT;
