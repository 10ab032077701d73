-- Turns and answers keep who caused them, as JSON that the store does not read. Until now
-- that could only be the agent's owner.

ALTER TABLE turns RENAME COLUMN sender TO actor;
UPDATE turns SET actor = json_object('id', 'owner', 'name', 'owner', 'role', 'owner');

-- Nobody where a question ended without an answer.
ALTER TABLE approvals ADD COLUMN answered_by TEXT;
UPDATE approvals SET answered_by = json_object('id', 'owner', 'name', 'owner', 'role', 'owner')
WHERE answer IN ('once', 'session', 'denied');

-- Messages that came in with an id of their surface's own, and the turns that they began:
-- one that is delivered again is known by it. They are kept as long as their turns are,
-- because nobody can say how late a surface delivers again, and each is small beside what
-- its turn keeps.
CREATE TABLE inbound_messages (
    -- The key of the conversation, as in `bindings`: it outlives the session.
    conversation TEXT NOT NULL,
    message      TEXT NOT NULL,
    turn         INTEGER NOT NULL REFERENCES turns (id),
    PRIMARY KEY (conversation, message)
) STRICT, WITHOUT ROWID;
