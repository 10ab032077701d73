-- Sessions in which a sub-agent does one task. Each has one turn.
CREATE TABLE delegations (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    -- The turn whose call gave the task; nothing where a person gave it.
    parent  INTEGER REFERENCES turns (id),
    call    TEXT,
    agent   TEXT NOT NULL
) STRICT;

CREATE INDEX delegations_of_turns ON delegations (parent) WHERE parent IS NOT NULL;
