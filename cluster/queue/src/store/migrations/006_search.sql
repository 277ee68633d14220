-- Indexes for parts of names and for hosts.

-- A job's name as words: of each three characters in a row the hexadecimal digits, letters of ASCII as small
-- ones; the last two words are shorter. A part of a name of three characters is one of these words, a shorter
-- one begins some, and a longer one is made of several.
CREATE VIEW job_words (id, words) AS
SELECT id, (
    WITH RECURSIVE place (n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < length(jobs.name)
    )
    SELECT group_concat(hex(substr(lower(jobs.name), n, 3)), ' ') FROM place
) FROM jobs;

-- Only which word is in which job, and which beginning of one or two characters: names themselves are looked
-- at in jobs.
CREATE VIRTUAL TABLE job_names USING fts5 (
    words, content = '', detail = 'none', columnsize = 0, tokenize = 'ascii', prefix = '2 4'
);

CREATE TABLE job_hosts (
    host TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (host, job)
) STRICT, WITHOUT ROWID;

INSERT INTO job_names (rowid, words) SELECT id, words FROM job_words ORDER BY id;

INSERT OR IGNORE INTO job_hosts (host, job)
SELECT value, jobs.id FROM jobs, json_each(iif(json_valid(jobs.hosts), jobs.hosts, '[]')) WHERE type = 'text';

-- Names of new jobs are added by who adds the jobs, all of an array at once: in a trigger each job would
-- have a savepoint, at which the index of words is written out.
CREATE TRIGGER jobs_added AFTER INSERT ON jobs BEGIN
    INSERT OR IGNORE INTO job_hosts (host, job)
    SELECT value, new.id FROM json_each(iif(json_valid(new.hosts), new.hosts, '[]')) WHERE type = 'text';
END;

-- The index of words forgets a job only when it is told them again, so before the name is another.
CREATE TRIGGER jobs_removed BEFORE DELETE ON jobs BEGIN
    INSERT INTO job_names (job_names, rowid, words)
    SELECT 'delete', id, words FROM job_words WHERE id = old.id;
    DELETE FROM job_hosts WHERE job = old.id
    AND host IN (SELECT value FROM json_each(iif(json_valid(old.hosts), old.hosts, '[]')));
END;

CREATE TRIGGER jobs_renaming BEFORE UPDATE OF name ON jobs WHEN old.name <> new.name BEGIN
    INSERT INTO job_names (job_names, rowid, words)
    SELECT 'delete', id, words FROM job_words WHERE id = old.id;
END;

CREATE TRIGGER jobs_renamed AFTER UPDATE OF name ON jobs WHEN old.name <> new.name BEGIN
    INSERT INTO job_names (rowid, words) SELECT id, words FROM job_words WHERE id = new.id;
END;

CREATE TRIGGER jobs_placed AFTER UPDATE OF hosts ON jobs WHEN old.hosts <> new.hosts BEGIN
    DELETE FROM job_hosts WHERE job = old.id
    AND host IN (SELECT value FROM json_each(iif(json_valid(old.hosts), old.hosts, '[]')));
    INSERT OR IGNORE INTO job_hosts (host, job)
    SELECT value, new.id FROM json_each(iif(json_valid(new.hosts), new.hosts, '[]')) WHERE type = 'text';
END;
