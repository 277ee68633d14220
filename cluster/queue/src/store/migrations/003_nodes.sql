-- What a job holds of each host; hosts that report; numbers that only grow.

ALTER TABLE jobs ADD COLUMN allocation TEXT NOT NULL DEFAULT '[]';

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
