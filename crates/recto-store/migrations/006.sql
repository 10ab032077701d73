-- What a client of the front doors brings along with its message, until the turn's first
-- request has it; and the turn that another one goes on with, once the client has run the
-- calls that were handed to it.

ALTER TABLE turns ADD COLUMN client BLOB;
ALTER TABLE turns ADD COLUMN continues INTEGER REFERENCES turns (id);

-- The turn whose client brought a message that was said elsewhere; it belongs to no turn.
ALTER TABLE messages ADD COLUMN brought_by INTEGER REFERENCES turns (id);
