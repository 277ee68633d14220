// The ranks of a job, asked again as its hosts report: with each sample of the event stream, so no
// clock runs here, and nothing is asked while the stream is cut or the tab is hidden.

import { useRef } from "preact/hooks";
import { get } from "../../api/client";
import type { Job, Ranks } from "../../api/types";
import * as hosts from "../../state/hosts";
import { useResource, type Resource } from "../../state/resource";

/// When a host was last heard of: its sample, or without one (Slurm tells only that it is there) that it was named.
function heard(name: string): number {
  const host = hosts.host(name);
  return host?.sample?.at_ms ?? (host ? Date.parse(host.last_seen) : 0);
}

/// Grows with the samples of the job's hosts while it runs.
export function useTurn(job: Job): number {
  hosts.version.value;
  const last = useRef({ at: 0, turn: 0 });
  const newest = Math.max(0, ...job.hosts.map(heard));
  if (job.state === "running" && !document.hidden && newest > last.current.at) {
    last.current = { at: newest, turn: last.current.turn + 1 };
  }
  return last.current.turn;
}

export function useRanks(job: Job): Resource<Ranks> {
  const turn = useTurn(job);
  const key = job.started ? `/jobs/${job.id}/ranks` : undefined;
  // Ranks that have ended are not there any more: what they did last stays.
  return useResource(key, (signal) => get<Ranks>(`/jobs/${job.id}/ranks`, signal), `${turn} ${job.state}`, job.state === "running");
}
