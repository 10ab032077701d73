-- Since when nothing is left of a session but its row, which keeps its number from being
-- given to another one.
ALTER TABLE sessions ADD COLUMN deleted INTEGER;
