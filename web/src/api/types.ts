// Short names for the types of the API. `schema.d.ts` is generated from the server's document.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Action = Schemas["Action"];
export type CpuUse = Schemas["CpuUse"];
export type Host = Schemas["Host"];
export type HostSample = Schemas["HostSample"];
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
export type Series = Schemas["Series"];
export type Snapshot = Schemas["Snapshot"];
export type State = Schemas["State"];
export type Validated = Schemas["Validated"];
