-- How the context was used, summed up for each agent and day. A turn is counted
-- in the transaction that ends it. Turns that ended before this table was there
-- are not in it.

CREATE TABLE usage_days (
    id     INTEGER PRIMARY KEY,
    agent  TEXT NOT NULL,
    -- Days since 1970-01-01, in UTC.
    day    INTEGER NOT NULL,
    -- Turns, tokens, items and what search chose, as JSON.
    counts TEXT NOT NULL,
    UNIQUE (agent, day)
) STRICT;
