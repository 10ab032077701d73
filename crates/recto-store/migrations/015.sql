-- What bots of chat services were sent, as it came: kept until it has become a turn or an answer.
CREATE TABLE channel_updates (
    id           INTEGER PRIMARY KEY,
    channel      TEXT NOT NULL,
    account      TEXT NOT NULL,
    -- The service's own name of it: the same one is the same update.
    key          TEXT NOT NULL,
    conversation TEXT NOT NULL,
    received     INTEGER NOT NULL,
    -- Set before something is done that can't be done twice.
    begun        INTEGER,
    ended        INTEGER,
    -- JSON that the store does not read; gone once it has ended.
    payload      TEXT
) STRICT;
CREATE UNIQUE INDEX channel_update_keys ON channel_updates (channel, account, key);
CREATE INDEX open_channel_updates ON channel_updates (channel, account, id) WHERE ended IS NULL;
CREATE INDEX ended_channel_updates ON channel_updates (ended) WHERE ended IS NOT NULL;

-- How far a bot has read, in the service's own numbers.
CREATE TABLE channel_cursors (
    channel  TEXT NOT NULL,
    account  TEXT NOT NULL,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (channel, account)
) STRICT, WITHOUT ROWID;

-- What is to stand in a conversation of a chat service: a reply, an answer, a question.
CREATE TABLE channel_deliveries (
    id           INTEGER PRIMARY KEY,
    channel      TEXT NOT NULL,
    account      TEXT NOT NULL,
    -- What it is for: one turn, one update, one question has one.
    key          TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn         INTEGER,
    created      INTEGER NOT NULL,
    -- Where it goes, and what it says once that is known: JSON that the store does not read.
    target       TEXT NOT NULL,
    content      TEXT,
    -- The service's ids of the messages that were made for it, as a JSON list.
    sent         TEXT NOT NULL DEFAULT '[]',
    ended        INTEGER,
    -- Why it could not be delivered.
    problem      TEXT
) STRICT;
CREATE UNIQUE INDEX channel_delivery_keys ON channel_deliveries (channel, account, key);
CREATE INDEX open_channel_deliveries ON channel_deliveries (channel, account, id)
    WHERE ended IS NULL;
CREATE INDEX ended_channel_deliveries ON channel_deliveries (ended) WHERE ended IS NOT NULL;

-- Conversations that their service has given another id.
CREATE TABLE channel_moves (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    origin  TEXT NOT NULL,
    current TEXT NOT NULL,
    PRIMARY KEY (channel, account, origin)
) STRICT, WITHOUT ROWID;

-- What was said in a group between two messages that were meant for the agent.
CREATE TABLE channel_overheard (
    id           INTEGER PRIMARY KEY,
    channel      TEXT NOT NULL,
    account      TEXT NOT NULL,
    conversation TEXT NOT NULL,
    at           INTEGER NOT NULL,
    speaker      TEXT NOT NULL,
    text         TEXT NOT NULL
) STRICT;
CREATE INDEX channel_overheard_in ON channel_overheard (channel, account, conversation, id);

-- How the bot of a chat service is, as the process that runs it last said.
CREATE TABLE channel_health (
    channel TEXT PRIMARY KEY,
    state   TEXT NOT NULL,
    detail  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- People and groups who asked to be let in, and those who were. A row stays when it is revoked.
CREATE TABLE pairings (
    id        INTEGER PRIMARY KEY,
    channel   TEXT NOT NULL,
    account   TEXT NOT NULL,
    -- The service's own id of the person or the group.
    subject   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    name      TEXT NOT NULL,
    code      TEXT,
    requested INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    approved  INTEGER,
    -- What they are to the agent, and who they are: set when they are let in.
    standing  TEXT,
    person    TEXT,
    revoked   INTEGER
) STRICT;
CREATE UNIQUE INDEX pairing_subjects ON pairings (channel, account, subject) WHERE revoked IS NULL;
CREATE UNIQUE INDEX pairing_codes ON pairings (code) WHERE code IS NOT NULL;

-- When a code was tried that is none.
CREATE TABLE pairing_guesses (at INTEGER NOT NULL) STRICT;
