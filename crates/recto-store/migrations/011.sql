-- Exchanges that were taken back: a person undid them, or sent another message in their
-- place. The messages stay where they are; later pages leave them out.

CREATE TABLE retractions (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id),
    -- The first and the last message.
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL CHECK (first <= last),
    -- The turn in which they were said; an imported one has none.
    turn        INTEGER REFERENCES turns (id),
    reason      TEXT NOT NULL,
    -- Who took them back, as JSON that the store does not read.
    actor       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    -- The turn whose message stands in their place.
    replaced_by INTEGER REFERENCES turns (id)
) STRICT;

CREATE INDEX session_retractions ON retractions (session, id);
CREATE INDEX retracted_turns ON retractions (turn) WHERE turn IS NOT NULL;
CREATE INDEX replacing_turns ON retractions (replaced_by) WHERE replaced_by IS NOT NULL;
