// How jobs are named: by a number, and a task of an array as Slurm's users know it, `12_3`.

import type { JobSummary } from "../api/types";

export const JOB_NAME = /^\d+(_\d+)?$/;

export const nameOf = ({ id, array }: JobSummary): string => (array ? `${array.id}_${array.task}` : `${id}`);
