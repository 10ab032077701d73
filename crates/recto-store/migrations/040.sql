-- Items that a turn was seen to use: what speaks for them in messages like its own. A turn that
-- went on with another is counted with that one. Turns that ended before this table was there are
-- not in it.
CREATE TABLE item_uses (
    turn INTEGER NOT NULL REFERENCES turns (id),
    item TEXT NOT NULL,
    PRIMARY KEY (turn, item)
) STRICT, WITHOUT ROWID;
