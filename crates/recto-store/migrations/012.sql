-- Since when nothing is left of a session but its row, which keeps its number from being
-- given to another one; and whether its bytes are gone from the files, too.
ALTER TABLE sessions ADD COLUMN deleted INTEGER;
ALTER TABLE sessions ADD COLUMN wiped INTEGER;
