-- Tokens of programs, the audit log, hosts that are drained, limits of queues.

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    -- Words separated by commas.
    scopes TEXT NOT NULL CHECK (scopes <> ''),
    created INTEGER NOT NULL,
    -- NULL: until it is revoked.
    expires INTEGER,
    used INTEGER,
    -- Made by signing in: a new password ends it.
    login INTEGER NOT NULL CHECK (login IN (0, 1))
) STRICT;

CREATE INDEX tokens_user ON tokens (user, id);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    user TEXT NOT NULL,
    -- Where from: an address, or 'socket'.
    origin TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL
) STRICT;

CREATE TABLE drained (
    host TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE queue_limits (
    queue TEXT PRIMARY KEY,
    time_limit INTEGER CHECK (time_limit > 0),
    ranks INTEGER CHECK (ranks > 0),
    jobs_per_user INTEGER CHECK (jobs_per_user > 0)
) STRICT;
