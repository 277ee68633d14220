// Made-up jobs and hosts, typed by the server's document.

import type { Host, HostSample, Job, JobSpec, JobSummary } from "../../src/api/types";

export const START = Date.parse("2026-11-22T12:00:00.000Z");

const iso = (ms: number): string => new Date(ms).toISOString();

export function job(id: number, change: Partial<JobSummary> = {}): JobSummary {
  return {
    id,
    name: `job${id}`,
    user: id % 3 === 0 ? "ada" : "me",
    state: "running",
    ranks: 4,
    hosts: ["n1"],
    submitted: iso(Date.now() - 60_000),
    started: iso(Date.now() - 50_000),
    queue: "main",
    priority: 0,
    ...change,
  };
}

export function ended(id: number, code = 0, change: Partial<JobSummary> = {}): JobSummary {
  const outcome = { kind: "exit", code } as const;
  return job(id, { state: "ended", outcome, ended: iso(Date.now() - 10_000), hosts: ["n1"], ...change });
}

export function pending(id: number, change: Partial<JobSummary> = {}): JobSummary {
  const { started: _, ...waiting } = job(id, {
    state: "pending",
    hosts: [],
    reason: "Needs 8 processors; 2 are free on n1.",
    estimated_start: iso(Date.now() + 600_000),
    ...change,
  });
  return waiting;
}

const NO = (why: string) => ({ allowed: false, why_not: why });
const YES = { allowed: true };

/// All there is to know of a job. The rules of what is possible are the server's (hpvm-queue).
export function whole(summary: JobSummary, spec: JobSpec, sizes: { stdout: number; stderr: number }): Job {
  const over = summary.state === "ended";
  const waits = summary.state === "pending" || summary.state === "submitted";
  return {
    ...summary,
    spec,
    command_line: commandLine(spec),
    output: sizes,
    exit_code: summary.outcome?.code ?? null,
    actions: {
      cancel: over ? NO("It has ended.") : YES,
      hold: waits ? YES : NO(over ? "It has ended." : "It runs already."),
      release: summary.state === "held" ? YES : NO("It is not held."),
      delete: over ? YES : NO("It has not ended."),
    },
  };
}

export function commandLine(spec: JobSpec): string {
  const words = ["hpvm", "submit"];
  if ((spec.ranks ?? 1) > 1) words.push("-n", String(spec.ranks));
  if (spec.time_limit_seconds) words.push("-t", String(Math.ceil(spec.time_limit_seconds / 60)));
  if (spec.name) words.push("-J", spec.name);
  words.push(...(spec.script != null ? ["script.sh"] : (spec.command ?? [])));
  return words.join(" ");
}

export function sample(at_ms: number, busy: number, cores = 8): HostSample {
  const each = (i: number) => {
    const wave = Math.min(0.98, Math.max(0.01, busy + 0.25 * Math.sin(i * 1.7 + at_ms / 4000)));
    return { user: wave * 0.85, system: wave * 0.15, iowait: i === 3 ? 0.05 : 0, steal: 0 };
  };
  return {
    at_ms,
    interval_seconds: 1,
    cpu: { total: { user: busy * 0.85, system: busy * 0.15, iowait: 0.01, steal: 0 }, cores: Array.from({ length: cores }, (_, i) => each(i)) },
    memory: { total: 64 * 2 ** 30, available: 41 * 2 ** 30, swap_total: 0, swap_free: 0 },
    network: { received: 3.2e6, sent: 1.1e6, interfaces: [] },
    disk: { read: 12e3, written: 850e3, capacity: { total: 10 ** 12, available: 7 * 10 ** 11 } },
    load: [2.5, 1.75, 1.25],
    uptime_seconds: 432_000,
  };
}

export function host(name: string, change: Partial<Host> = {}): Host {
  return {
    name,
    state: "up",
    last_seen: iso(Date.now()),
    cpus: 8,
    cpus_reserved: 4,
    memory: 64 * 2 ** 30,
    sample: sample(Date.now(), 0.55),
    ...change,
  };
}

/// The page of an evaluation, with its data inside, as `hpvm bench report -o -` writes it.
export function report(host: string, latency: number[], more = ""): string {
  const point = (mode: string, unit: string, size: number, samples: number[]) => ({ mode, by: "hpvm", ranks: 2, size, unit, launches: [samples] });
  const data = {
    format: 1, version: "0.1.0", machine: { host }, time: START / 1000, complete: true,
    finished: [
      { name: "latency", points: [point("latency", "us", 8, latency)] },
      { name: "bandwidth", points: [point("bandwidth", "MB/s", 1024, [900, 1000, 1100])] },
      { name: "npb", left_out: "</script><b>no copy</b>" },
    ],
  };
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  return `<!DOCTYPE html>\n<html lang="en"><head><title>hpvm report</title><style>h1 { color: teal }</style></head><body><h1>Evaluation of ${host}</h1>${more}\n<script type="application/json" id="data">${json}</script>\n</body></html>\n`;
}
