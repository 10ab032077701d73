-- Tokens that let programs and people in over the network. Of a token itself only its hash is
-- kept. A row stays when its token is revoked: sessions and turns name its number.
CREATE TABLE tokens (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    hash      BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    -- What it may do, as JSON that the store does not read.
    rights    TEXT NOT NULL,
    created   INTEGER NOT NULL,
    expires   INTEGER,
    last_used INTEGER,
    revoked   INTEGER
) STRICT;

CREATE UNIQUE INDEX token_names ON tokens (name) WHERE revoked IS NULL;
