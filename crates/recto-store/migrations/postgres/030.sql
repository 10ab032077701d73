-- The nodes at work on the database, each with until when it counts as alive, in milliseconds of
-- the server's clock (`postgres/nodes.rs`). A file has no such table: its processes hold locks on
-- files instead.
CREATE TABLE nodes (
    id      BIGINT PRIMARY KEY,
    host    TEXT NOT NULL,
    home    TEXT NOT NULL,
    process BIGINT NOT NULL,
    expires BIGINT NOT NULL
);

CREATE TABLE leases (
    name  TEXT COLLATE "C" PRIMARY KEY,
    owner BIGINT NOT NULL
);

CREATE TABLE turn_followers (
    turn  BIGINT NOT NULL,
    owner BIGINT NOT NULL,
    PRIMARY KEY (turn, owner)
);

CREATE TABLE turn_snapshots (
    turn    BIGINT PRIMARY KEY,
    version BIGINT NOT NULL,
    state   BYTEA NOT NULL
);
