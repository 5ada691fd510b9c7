-- Small texts by name. `version` is the number of changes; whoever changes one says which version was read.
CREATE TABLE cell (
    name TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    text TEXT NOT NULL
);
