-- What a tool would do, as fields beside the words that the person was shown. A
-- question of before has only the words.

ALTER TABLE approvals ADD COLUMN fields BLOB;
