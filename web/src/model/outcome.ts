// How a job stands, in a word and a sentence.

import type { JobSummary } from "../api/types";
import { succeeded } from "./filter";

export type Look = "running" | "pending" | "held" | "good" | "bad" | "cancelled";

const SIGNALS: Record<number, string> = {
  1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
  9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
};

export function look(job: JobSummary): Look {
  if (job.state === "ended") {
    if (succeeded(job)) return "good";
    return job.outcome?.kind === "cancelled" ? "cancelled" : "bad";
  }
  return job.state === "running" ? "running" : job.state === "held" ? "held" : "pending";
}

/// "running", "exit 3", "SIGSEGV", "time limit".
export function word(job: JobSummary): string {
  if (job.cancelling && job.state !== "ended") return "cancelling";
  if (job.state !== "ended") return job.state;
  const outcome = job.outcome;
  switch (outcome?.kind) {
    case "exit":
      return outcome.code ? `exit ${outcome.code}` : "done";
    case "signal":
      return SIGNALS[outcome.signal ?? 0] ?? `signal ${outcome.signal ?? "?"}`;
    case "time_limit":
      return "time limit";
    case "memory_limit":
      return "memory limit";
    case "process_limit":
      return "process limit";
    case "node_lost":
      return "host lost";
    case "failed_to_start":
      return "not started";
    default:
      return outcome?.kind ?? "ended";
  }
}

/// When what it is now began: for lists of what ended last, and for ages.
export function since(job: JobSummary): number {
  return Date.parse(job.ended ?? job.started ?? job.submitted);
}

/// Seconds that it has run, or ran.
export function ran(job: JobSummary, now: number): number | undefined {
  if (!job.started) return undefined;
  return ((job.ended ? Date.parse(job.ended) : now) - Date.parse(job.started)) / 1000;
}
