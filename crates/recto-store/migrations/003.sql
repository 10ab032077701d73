-- Questions whether a tool may run, and what people said.

CREATE TABLE approvals (
    id       INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL REFERENCES sessions (id),
    turn     INTEGER NOT NULL REFERENCES turns (id),
    -- The round of calls within the turn, and the call's place in it: models
    -- use the same identity for more than one call.
    round    INTEGER NOT NULL,
    place    INTEGER NOT NULL,
    tool     TEXT NOT NULL,
    title    TEXT NOT NULL,
    detail   BLOB NOT NULL,
    -- Of what the person was shown and what would be done.
    action   BLOB NOT NULL,
    -- Of what the tool is: what is allowed for a session is this.
    identity BLOB NOT NULL,
    -- 1 where only this very call can be allowed.
    single   INTEGER NOT NULL,
    asked    INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    answer   TEXT,
    answered INTEGER,
    UNIQUE (turn, round, place)
) STRICT;

CREATE INDEX open_approvals ON approvals (id) WHERE answer IS NULL;
CREATE INDEX session_leave ON approvals (session) WHERE answer = 'session';

-- What the declarations and scripts of a skill were when a person last looked
-- at them, by its folder.
CREATE TABLE trusted (
    agent  TEXT NOT NULL,
    folder TEXT NOT NULL,
    hash   BLOB NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (agent, folder)
) STRICT, WITHOUT ROWID;
