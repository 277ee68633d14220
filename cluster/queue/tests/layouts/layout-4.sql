-- A store of layout 4, as the hpvm that had it wrote it. Not to be changed: a migration must cope with it.

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
    spec INTEGER NOT NULL REFERENCES specs (id), allocation TEXT NOT NULL DEFAULT '[]', restarts INTEGER NOT NULL DEFAULT 0 CHECK (restarts >= 0), last_failure TEXT
    CHECK ((last_failure IS NULL) = (restarts = 0)), eligible INTEGER
    CHECK (eligible IS NULL OR state IN ('pending', 'held')),
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

CREATE TABLE nodes (
    name TEXT PRIMARY KEY,
    -- Of the data folder on that host: another one knows nothing of the jobs that ran there.
    identity TEXT NOT NULL,
    cpus INTEGER NOT NULL CHECK (cpus > 0),
    memory INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    last_seen INTEGER NOT NULL
) STRICT;

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

INSERT INTO users (name, roles, password) VALUES ('ann', 'admin,user', NULL), ('bob', 'user', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA');
INSERT INTO sessions (hash, user, created, expires) VALUES (x'01', 'ann', 1000, 9000000000000);
INSERT INTO links (hash, user, expires) VALUES (x'02', 'ann', 9000000000000);
INSERT INTO specs (id, spec) VALUES (1, '{"command":["./poisson","256"],"ranks":4,"time_limit_seconds":600,"memory_bytes":1073741824,"priority":0,"hold":false,"env":{"A":"b"},"workdir":"/home/ann"}'), (2, '{"script":"#!/bin/sh\nmpirun ./x\n","ranks":2,"priority":5,"hold":false,"array":"1-2%1","depends_on":[{"kind":"afterok","job":1}]}'), (3, '{"command":["sleep","1000"],"ranks":1,"priority":0,"hold":true}');
INSERT INTO jobs (id, state, user, name, queue, priority, ranks, time_limit, array_id, array_task, array_at_once, submitted, started, ended, hosts, reason, estimated_start, cancelling, outcome, spec) VALUES
(1, 'ended', 'ann', 'poisson', 'main', 0, 4, 600, NULL, NULL, NULL, 1000, 2000, 3000, '["n1"]', NULL, NULL, 0, '{"kind":"exit","code":0}', 1),
(2, 'ended', 'ann', 'poisson', 'main', 0, 4, 600, NULL, NULL, NULL, 1001, 2001, 602001, '["n1","n2"]', NULL, NULL, 0, '{"kind":"time_limit","detail":"the time limit of 600 s was over"}', 1),
(3, 'running', 'bob', 'array', 'main', 5, 2, NULL, 3, 1, 1, 1002, 2002, NULL, '["n1"]', NULL, NULL, 0, NULL, 2),
(4, 'pending', 'bob', 'array', 'main', 5, 2, NULL, 3, 2, 1, 1002, NULL, NULL, '[]', 'array 3 lets only 1 of its jobs run at once', NULL, 0, NULL, 2),
(5, 'held', 'ann', 'sleep', 'main', 0, 1, NULL, NULL, NULL, NULL, 1003, NULL, NULL, '[]', 'held by ann until it is released', NULL, 0, NULL, 3),
(6, 'ended', 'ann', 'sleep', 'main', 0, 1, NULL, NULL, NULL, NULL, 1004, NULL, 1005, '[]', NULL, NULL, 0, '{"kind":"cancelled","detail":"cancelled by ann"}', 3);
INSERT INTO idempotency (user, key, spec, job, at) VALUES ('ann', 'k1', '{}', 5, 9000000000000);
INSERT INTO outbox (id, kind, user, data) VALUES (41, 'job-removed', 'ann', '{"id":7}');
UPDATE sqlite_sequence SET seq = 7 WHERE name = 'jobs';
INSERT INTO tokens (hash, user, name, scopes, created, expires, used, login) VALUES (x'03', 'ann', 'nodes', 'node', 1000, NULL, 2000, 0);
INSERT INTO audit (at, user, origin, action, target) VALUES (1000, 'ann', 'socket', 'submit', 'job 1');
INSERT INTO drained (host, user, reason, at) VALUES ('n2', 'ann', 'fan', 1000);
INSERT INTO queue_limits (queue, time_limit, ranks, jobs_per_user) VALUES ('main', 3600, 64, NULL);
UPDATE jobs SET allocation = '[{"host":"n1","ranks":2,"cpus":2,"memory":0}]' WHERE id = 3;
INSERT INTO nodes (name, identity, cpus, memory, gpus, last_seen) VALUES ('n1', 'abc', 4, 8589934592, 1, 5000);
INSERT INTO counters (name, value) VALUES ('queue', 77), ('epoch', 1234);
UPDATE jobs SET restarts = 1, last_failure = '{"kind":"node_lost","detail":"the host was set up anew"}', eligible = 9000 WHERE id = 4;
PRAGMA application_id = 1752200813;
PRAGMA user_version = 4;
