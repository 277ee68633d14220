// The state of a job: a shape, a word, a colour; the shape and the word say it without the colour.

import type { JobSummary } from "../api/types";
import { look, word, type Look } from "../model/outcome";

const SHAPES: Record<Look, string> = {
  running: "M4 2l9 6-9 6z",
  pending: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 2a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM7.2 5h1.6v3.4l2 1.2-.8 1.3-2.8-1.7z",
  held: "M3 2h3.5v12H3zm6.500 0H13v12H9.500z",
  good: "M13.600 3.800L6.500 13 2 8.800l1.400-1.500 2.900 2.700 5.700-7.400z",
  bad: "M3.500 2L8 6.500 12.500 2 14 3.500 9.500 8l4.500 4.500-1.500 1.500L8 9.500 3.500 14 2 12.500 6.500 8 2 3.500z",
  cancelled: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm0 2c1.100 0 2.100.350 2.900.900L3.900 10.900A5 5 0 0 1 8 3zm0 10a5 5 0 0 1-2.900-.900l7-7A5 5 0 0 1 8 13z",
};

export function StateOf({ job }: { job: JobSummary }) {
  const kind = look(job);
  return (
    <span class={`state ${kind}`} title={job.outcome?.detail ?? undefined}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={SHAPES[kind]} />
      </svg>
      {word(job)}
    </span>
  );
}
