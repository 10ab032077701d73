-- When a text was last taken out of the record of a request, which is not what was sent since.
ALTER TABLE requests ADD COLUMN redacted INTEGER;

-- Each time that a text was taken out of everything. Which text it was is nowhere.
CREATE TABLE redactions (
    id       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    -- How many messages and requests had it; nothing where it was cut short.
    messages INTEGER,
    requests INTEGER,
    -- 1 once its bytes are gone from the file, too.
    wiped    INTEGER
) STRICT;
