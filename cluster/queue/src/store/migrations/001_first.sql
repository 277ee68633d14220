-- Jobs, events of jobs, who may come in. What no job can be is forbidden here as well.

CREATE TABLE specs (
    id INTEGER PRIMARY KEY,
    spec TEXT NOT NULL
) STRICT;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'held', 'pending', 'running', 'ended')),
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    ranks INTEGER NOT NULL CHECK (ranks > 0),
    time_limit INTEGER CHECK (time_limit > 0),
    array_id INTEGER,
    array_task INTEGER,
    array_at_once INTEGER,
    submitted INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    hosts TEXT NOT NULL DEFAULT '[]',
    reason TEXT,
    estimated_start INTEGER,
    cancelling INTEGER NOT NULL DEFAULT 0 CHECK (cancelling IN (0, 1)),
    outcome TEXT,
    spec INTEGER NOT NULL REFERENCES specs (id),
    CHECK ((state = 'ended') = (ended IS NOT NULL)),
    CHECK ((state = 'ended') = (outcome IS NOT NULL)),
    CHECK (state <> 'running' OR started IS NOT NULL),
    CHECK (started IS NULL OR state IN ('running', 'ended')),
    CHECK (ended IS NULL OR started IS NULL OR ended >= started),
    CHECK (cancelling = 0 OR state = 'running'),
    CHECK ((array_id IS NULL) = (array_task IS NULL))
) STRICT;

CREATE INDEX jobs_state ON jobs (state, id);
CREATE INDEX jobs_user ON jobs (user, id);
CREATE INDEX jobs_spec ON jobs (spec);
CREATE INDEX jobs_array ON jobs (array_id, id) WHERE array_id IS NOT NULL;

-- What has happened, for streams of events: written in the transaction of the change itself.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('job', 'job-removed')),
    user TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;

CREATE TABLE idempotency (
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    spec TEXT NOT NULL,
    job INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user, key)
) STRICT;

CREATE TABLE users (
    name TEXT PRIMARY KEY,
    roles TEXT NOT NULL,
    -- An argon2id hash with its parameters; NULL until a password is set.
    password TEXT
) STRICT;

-- Sessions and one-time links, both by the hash of what their owner knows.
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT;

CREATE TABLE links (
    hash BLOB PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    expires INTEGER NOT NULL
) STRICT;
