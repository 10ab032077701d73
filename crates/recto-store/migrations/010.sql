-- How often a turn was begun, how many of these begins its process gave back in an orderly way
-- when it ended, and by whom the last was. What was begun before was begun once.
ALTER TABLE turns ADD COLUMN begins INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN releases INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN begun_by INTEGER;
UPDATE turns SET begins = 1, begun_by = owner WHERE started IS NOT NULL;
-- Who has asked to stop an open turn, for the process that has it or takes it up.
ALTER TABLE turns ADD COLUMN stop_by TEXT;
