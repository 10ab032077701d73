-- How the context was used, summed up for each agent and day. A turn is counted
-- in the transaction that ends it. Turns that ended before this table was there
-- are not in it.

CREATE TABLE usage_days (
    id     INTEGER PRIMARY KEY,
    agent  TEXT NOT NULL,
    -- Days since 1970-01-01, in UTC.
    day    INTEGER NOT NULL,
    -- Turns, tokens and what search chose, as JSON.
    totals TEXT NOT NULL,
    -- What became of each item, in a form of its own.
    items  BLOB NOT NULL,
    UNIQUE (agent, day)
) STRICT;
