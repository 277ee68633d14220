// Short names for the types of the API. `schema.d.ts` is generated from the server's document.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Action = Schemas["Action"];
export type Host = Omit<Schemas["Host"], "sample"> & { sample?: HostSample | null };
export type Info = Schemas["Info"];
export type Job = Schemas["Job"];
export type JobList = Schemas["JobList"];
export type JobSpec = Schemas["JobSpec"];
export type JobSummary = Schemas["JobSummary"];
export type Matrix = Schemas["Matrix"];
export type Outcome = Schemas["Outcome"];
export type Problem = Schemas["Problem"];
export type Queues = Schemas["Queues"];
export type Rank = Schemas["Rank"];
export type Ranks = Schemas["Ranks"];
export type Session = Schemas["Session"];
export type Snapshot = Omit<Schemas["Snapshot"], "hosts"> & { hosts: Host[] };
export type State = Schemas["State"];
export type Validated = Schemas["Validated"];

/// Fractions of a processor's time (hpvm-monitor).
export interface CpuUse {
  user: number;
  system: number;
  iowait: number;
  steal: number;
}

/// A sample of a host (hpvm-monitor): bytes, bytes per second, fractions.
export interface HostSample {
  at_ms: number;
  interval_seconds?: number;
  cpu?: { total: CpuUse; cores: CpuUse[] };
  memory: { total: number; available: number; swap_total: number; swap_free: number };
  network?: { received: number; sent: number };
  disk: { read?: number; written?: number; capacity?: { total: number; available: number } };
  load: number[];
  uptime_seconds: number;
}

/// What is kept of the samples of an hour or a day (hpvm-monitor). Columns; null is a gap.
export interface Series {
  start_ms: number;
  step_ms: number;
  cpu: (number | null)[];
  memory: (number | null)[];
  received: (number | null)[];
  sent: (number | null)[];
  read: (number | null)[];
  written: (number | null)[];
}
