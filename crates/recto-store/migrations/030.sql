-- What one process at a time may do, such as reading what the bot of a chat is sent, and who does
-- it. It is theirs for as long as they live (`owner.rs`).
CREATE TABLE leases (
    name  TEXT PRIMARY KEY,
    owner INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Processes in which somebody follows a turn that another process runs: it keeps a snapshot of
-- the turn for them while they do.
CREATE TABLE turn_followers (
    turn  INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    PRIMARY KEY (turn, owner)
) STRICT, WITHOUT ROWID;

-- How a turn that is followed stands: JSON that the store does not read, and how often it was
-- written. Gone with the turn's end.
CREATE TABLE turn_snapshots (
    turn    INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    state   BLOB NOT NULL
) STRICT;
