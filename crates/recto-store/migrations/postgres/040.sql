CREATE TABLE item_uses (
    turn BIGINT NOT NULL REFERENCES turns (id),
    item TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (turn, item)
);
