-- Summaries that stand on the page for messages which have left it. The messages
-- stay where they are.

CREATE TABLE compactions (
    id               INTEGER PRIMARY KEY,
    session          INTEGER NOT NULL REFERENCES sessions (id),
    -- The one that it replaced.
    parent           INTEGER REFERENCES compactions (id) CHECK (parent < id),
    -- The first and the last message that it stands for.
    first            INTEGER NOT NULL,
    last             INTEGER NOT NULL CHECK (first <= last),
    messages         INTEGER NOT NULL,
    how              TEXT NOT NULL,
    model            TEXT,
    text             BLOB NOT NULL,
    tokens_before    INTEGER NOT NULL,
    tokens_after     INTEGER NOT NULL,
    -- What had left before, and no summary stood for it.
    trimmed_messages INTEGER NOT NULL,
    trimmed_tokens   INTEGER NOT NULL,
    made             INTEGER NOT NULL,
    -- Since when the messages are back.
    undone           INTEGER
) STRICT;

CREATE INDEX session_compactions ON compactions (session, id);

-- Vectors stand on shelves, so that one can be cleared without the others. Those
-- that were kept are computed again.
DROP TABLE embeddings;

CREATE TABLE embeddings (
    shelf  TEXT NOT NULL,
    -- The encoder and its version.
    model  TEXT NOT NULL,
    -- The hash of the text.
    text   BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (shelf, model, text)
) STRICT, WITHOUT ROWID;

-- Who reads along in a session is kept with it. Until now all of them were held with
-- the agent's owner.
UPDATE sessions
SET settings = json_set(
    settings, '$.audience', json_object('who', 'owner', 'person', 'owner', 'agent', agent)
)
WHERE CASE WHEN json_valid(settings) THEN settings ->> '$.audience' IS NULL ELSE 0 END;
