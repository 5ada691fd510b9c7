-- The state of each key. `version` is the number of inputs that led to it.
CREATE TABLE pull (
    key TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    state TEXT NOT NULL,
    phase TEXT NOT NULL,
    changed BIGINT NOT NULL
);
-- Deliveries of the last days, to recognise those that come again. Their inputs are in `history`.
CREATE TABLE inbox (
    delivery TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX inbox_at ON inbox (at);
-- Effects and timers that are not done. `due` is the time of a timer, the end of a backoff and the end of a lease;
-- `attempt` is the fence; `owner` is the process that leased it, or nothing.
CREATE TABLE task (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    seq BIGINT NOT NULL,
    timer BIGINT NOT NULL,
    lane BIGINT NOT NULL,
    work TEXT NOT NULL,
    created BIGINT NOT NULL,
    due BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    owner TEXT NOT NULL,
    error TEXT NOT NULL
);
CREATE INDEX task_due ON task (due);
CREATE INDEX task_key ON task (key, timer, seq);
-- Every input of a key with the time at which it was stepped, so that the state can be computed again.
CREATE TABLE history (
    key TEXT NOT NULL,
    n BIGINT NOT NULL,
    at BIGINT NOT NULL,
    delivery TEXT NOT NULL,
    input TEXT NOT NULL,
    log TEXT NOT NULL,
    phase TEXT NOT NULL,
    PRIMARY KEY (key, n)
);
-- `sealed` is the token, encrypted, in base64; an agent of a GitHub App has none.
CREATE TABLE agent (
    name TEXT PRIMARY KEY,
    login TEXT,
    sealed TEXT,
    persona TEXT NOT NULL,
    created BIGINT NOT NULL
);
CREATE TABLE token (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    created BIGINT NOT NULL
);
