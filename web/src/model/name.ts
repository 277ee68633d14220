// How jobs are named: by a number, and a task of an array as Slurm's users know it, `12_3`.

import type { JobSummary } from "../api/types";

export const JOB_NAME = /^\d+(_\d+)?$/;

/// In lists and titles: of an array's tasks that wait in one record those, as Slurm writes them.
export const shownName = (job: JobSummary): string => (job.waiting ? `${job.id}_[${job.waiting}]` : nameOf(job));

export const nameOf = ({ id, array }: JobSummary): string => (array ? `${array.id}_${array.task}` : `${id}`);
