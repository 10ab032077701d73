-- Before whom a session is held: its owner, a guest, or those in a place. Each has names of their
-- own, so that nobody meets, or learns of, a name that somebody else has given.
ALTER TABLE sessions ADD COLUMN holder TEXT NOT NULL DEFAULT 'owner';

UPDATE sessions
SET holder = CASE
    WHEN NOT json_valid(settings) THEN 'owner'
    WHEN settings ->> '$.audience.who' = 'guest' AND settings ->> '$.audience.person' IS NOT NULL
        THEN 'guest:' || (settings ->> '$.audience.person')
    WHEN settings ->> '$.audience.who' IN ('guest', 'group', 'sub_agent')
        THEN 'place:' || coalesce(settings ->> '$.audience.conversation', '')
    ELSE 'owner'
END;

DROP INDEX open_session_names;
DROP INDEX archived_session_names;
CREATE UNIQUE INDEX open_session_names ON sessions (name, agent, holder) WHERE archived IS NULL;
CREATE INDEX archived_session_names ON sessions (name, agent, holder) WHERE archived IS NOT NULL;

-- A conversation is that of whom it is held with. The owner's keys have no sixth part.
UPDATE bindings
SET key = json_insert(
    key, '$[#]', (SELECT holder FROM sessions WHERE sessions.id = bindings.session)
)
WHERE session IN (SELECT id FROM sessions WHERE holder <> 'owner')
    AND CASE WHEN json_valid(key) THEN json_array_length(key) = 5 ELSE 0 END;

-- The first words of its first message, for lists: a message can be long.
ALTER TABLE sessions ADD COLUMN opening TEXT;
