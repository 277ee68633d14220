// The filter line of the list of jobs: `state:running user:me name:x host:n3`. A word without a
// colon is part of a name, or a job's number. Words are joined by "and".

import type { JobSummary } from "../api/types";
import { JOB_NAME, nameOf } from "./name";

export interface Filter {
  terms: Term[];
  /// What is wrong, as a sentence.
  problem: string | undefined;
}

interface Term {
  key: Key;
  value: string;
}

export const KEYS = ["state", "user", "name", "host", "queue", "array", "id"] as const;
type Key = (typeof KEYS)[number];

/// Words that stand for states. `failed` is an end other than a good one.
const STATES: Record<string, (job: JobSummary) => boolean> = {
  submitted: (job) => job.state === "submitted",
  held: (job) => job.state === "held",
  pending: (job) => job.state === "pending" || job.state === "submitted",
  running: (job) => job.state === "running",
  ended: (job) => job.state === "ended",
  active: (job) => job.state !== "ended",
  failed: (job) => job.state === "ended" && !succeeded(job),
  done: (job) => job.state === "ended" && succeeded(job),
};

export function succeeded(job: JobSummary): boolean {
  return job.outcome?.kind === "exit" && (job.outcome.code ?? 0) === 0;
}

export function parseFilter(text: string): Filter {
  const terms: Term[] = [];
  let problem: string | undefined;
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const colon = word.indexOf(":");
    const key = word.slice(0, colon);
    const value = word.slice(colon + 1).toLowerCase();
    if (colon < 0) {
      terms.push({ key: JOB_NAME.test(word) ? "id" : "name", value: word.toLowerCase() });
    } else if (!(KEYS as readonly string[]).includes(key)) {
      problem ??= `"${key}" is not known; known are ${KEYS.join(", ")}`;
    } else if (key === "state" && value && !value.split(",").every((state) => state in STATES)) {
      problem ??= `"${value}" is not a state; known are ${Object.keys(STATES).join(", ")}`;
    } else if (value) {
      terms.push({ key: key as Key, value });
    }
  }
  return { terms, problem };
}

/// Whether a job passes. `me` is the name that `user:me` stands for.
export function matches(filter: Filter, job: JobSummary, me: string): boolean {
  return filter.terms.every(({ key, value }) => {
    switch (key) {
      case "state":
        return value.split(",").some((state) => STATES[state]?.(job) ?? false);
      case "user":
        return job.user.toLowerCase() === (value === "me" ? me.toLowerCase() : value);
      case "name":
        return job.name.toLowerCase().includes(value);
      case "host":
        return job.hosts.some((host) => host.toLowerCase() === value);
      case "queue":
        return job.queue.toLowerCase() === value;
      case "array":
        return String(job.array?.id ?? "") === value;
      case "id":
        return String(job.id) === value || nameOf(job) === value;
    }
  });
}

/// The part of a filter that the server can apply, as a query; the page applies all of it again.
export function query(filter: Filter, me: string): URLSearchParams {
  const params = new URLSearchParams();
  const states = ["submitted", "held", "pending", "running", "ended"];
  for (const { key, value } of filter.terms) {
    if (key === "user") params.set("user", value === "me" ? me : value);
    if (key === "name" || key === "host" || key === "array") params.set(key, value);
    if (key === "state") {
      const known = value.split(",").flatMap((state) => {
        if (state === "failed" || state === "done") return ["ended"];
        if (state === "active") return states.slice(0, 4);
        return state === "pending" ? ["pending", "submitted"] : [state];
      });
      params.set("state", [...new Set(known)].join(","));
    }
  }
  return params;
}
