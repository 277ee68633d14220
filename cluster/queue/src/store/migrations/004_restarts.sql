-- Jobs that are started again: how often they were, how the attempt before ended (as outcome), and
-- before which time the next one does not start.

ALTER TABLE jobs ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0 CHECK (restarts >= 0);
ALTER TABLE jobs ADD COLUMN last_failure TEXT
    CHECK ((last_failure IS NULL) = (restarts = 0));
ALTER TABLE jobs ADD COLUMN eligible INTEGER
    CHECK (eligible IS NULL OR state IN ('pending', 'held'));
