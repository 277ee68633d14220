// Short names for the types of the API. `schema.d.ts` is generated from the server's document.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Action = Schemas["Action"];
export type AuditEntry = Schemas["AuditEntry"];
export type AuditLog = Schemas["AuditLog"];
export type Counters = Schemas["Counters"];
export type CpuUse = Schemas["CpuUse"];
export type Gpu = Schemas["Gpu"];
export type Host = Schemas["Host"];
export type HostSample = Schemas["HostSample"];
export type Info = Schemas["Info"];
export type Job = Schemas["Job"];
export type JobList = Schemas["JobList"];
export type JobSpec = Schemas["JobSpec"];
export type JobSummary = Schemas["JobSummary"];
export type Link = Schemas["Link"];
export type MadeToken = Schemas["MadeToken"];
export type Matrix = Schemas["Matrix"];
export type Outcome = Schemas["Outcome"];
export type Problem = Schemas["Problem"];
export type Problems = Schemas["Problems"];
export type QueueInfo = Schemas["QueueInfo"];
export type Queues = Schemas["Queues"];
export type Rank = Schemas["Rank"];
export type RankCounters = Schemas["RankCounters"];
export type Ranks = Schemas["Ranks"];
export type Role = Schemas["Role"];
export type Session = Schemas["Session"];
export type Series = Schemas["Series"];
export type Snapshot = Schemas["Snapshot"];
export type State = Schemas["State"];
export type Token = Schemas["Token"];
export type Tokens = Schemas["Tokens"];
export type User = Schemas["User"];
export type Users = Schemas["Users"];
export type Validated = Schemas["Validated"];
