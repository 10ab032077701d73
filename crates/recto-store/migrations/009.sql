-- Two agents may each have a session of the same name.
DROP INDEX open_session_names;
DROP INDEX archived_session_names;
CREATE UNIQUE INDEX open_session_names ON sessions (name, agent) WHERE archived IS NULL;
CREATE INDEX archived_session_names ON sessions (name, agent) WHERE archived IS NOT NULL;
