-- Vectors of what an agent's items say, so that each text is embedded once. They
-- can always be computed again.

CREATE TABLE embeddings (
    agent  TEXT NOT NULL,
    -- The encoder and its version.
    model  TEXT NOT NULL,
    -- The hash of the text.
    text   BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (agent, model, text)
) STRICT, WITHOUT ROWID;
