// The jobs that this page knows, kept up to date by events.
//
// The map is changed in place and `version` says that it was: a thousand events between two frames
// are one drawing. A list that was asked for before an event came must not undo it, so `merge`
// leaves alone what changed since its question.

import { signal } from "@preact/signals";
import { get } from "../api/client";
import type { JobList, JobSummary } from "../api/types";

/// Jobs kept in a tab. Beyond them the server searches (it holds a million).
export const MOST_JOBS = 20_000;

/// Jobs asked for at once: the server's largest page.
const PAGE = 1000;

export const version = signal(0);

/// Whether the server has jobs that are not here.
export const more = signal(false);

const jobs = new Map<number, JobSummary>();
const changed = new Map<number, number>();
let change = 0;
let frame = 0;

export function job(id: number): JobSummary | undefined {
  return jobs.get(id);
}

export function allJobs(): IterableIterator<JobSummary> {
  return jobs.values();
}

/// An event: this is what the job is now.
export function put(summary: JobSummary): void {
  changed.set(summary.id, ++change);
  jobs.set(summary.id, summary);
  touch();
}

export function remove(id: number): void {
  changed.set(id, ++change);
  jobs.delete(id);
  touch();
}

/// A mark for `merge`: what changes from now on is newer than the answer to a question asked now.
export function mark(): number {
  return change;
}

/// An answer to a question asked at `at`.
export function merge(summaries: readonly JobSummary[], at: number): void {
  for (const summary of summaries) {
    if ((changed.get(summary.id) ?? 0) <= at) jobs.set(summary.id, summary);
  }
  touch();
}

/// The stream begins anew. It tells all jobs that have not ended: others that had not are gone.
export function reset(summaries: readonly JobSummary[]): void {
  const told = new Set(summaries.map((summary) => summary.id));
  for (const [id, each] of jobs) if (each.state !== "ended" && !told.has(id)) jobs.delete(id);
  changed.clear();
  merge(summaries, change);
}

/// Asks for all jobs that fit, newest first, page by page.
export async function loadAll(signal?: AbortSignal): Promise<void> {
  const params = new URLSearchParams({ limit: String(PAGE) });
  for (let loaded = 0; loaded < MOST_JOBS; loaded += PAGE) {
    const at = mark();
    const page = await get<JobList>(`/jobs?${params}`, signal);
    merge(page.jobs, at);
    more.value = Boolean(page.next_page_token);
    if (!page.next_page_token) return;
    params.set("page_token", page.next_page_token);
  }
}

/// Asks the server for jobs that match, where not all are here.
export async function search(params: URLSearchParams, signal: AbortSignal): Promise<void> {
  params.set("limit", String(PAGE));
  const at = mark();
  merge((await get<JobList>(`/jobs?${params}`, signal)).jobs, at);
}

function touch(): void {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    version.value += 1;
  });
}
