-- Of an array behind another queue: the tasks that one record stands for, because they have not started.

ALTER TABLE jobs ADD COLUMN waiting TEXT;
