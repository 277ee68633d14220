// The event stream and what its events change.

import { signal } from "@preact/signals";
import { get } from "../api/client";
import { Stream, type Link } from "../api/stream";
import type { Host, Info, JobSummary, Problems, Snapshot } from "../api/types";
import { setServerTime } from "./clock";
import * as hosts from "./hosts";
import { busy, setCaughtUp } from "./idle";
import * as jobs from "./jobs";

export const link = signal<Link>({ state: "connecting" });
export const info = signal<Info | undefined>(undefined);

/// Grows with every event about a job: what shows more than its summary asks again.
export const jobEvents = signal<{ id: number; count: number }>({ id: 0, count: 0 });

/// Wait before lists are asked for again that could not be had while the stream is open.
const AGAIN_MS = 2000;

let stream: Stream | undefined;

/// Whether the list of jobs was asked for. A stream that resumes brings what changed since.
let listed = false;

export function start(signedOut: () => void): void {
  if (stream) return;
  stream = new Stream({
    event: hear,
    link(next) {
      link.value = next;
      if (next.state === "cut") setCaughtUp(false);
      if (next.state === "open") void load();
    },
    signedOut,
  });
}

export function stop(): void {
  stream?.close();
  stream = undefined;
  listed = false;
  setCaughtUp(true);
}

export const retry = (): void => stream?.retry();

/// What the stream does not tell: older jobs, hosts for a tab that only listens, the server itself.
/// Asked after the stream is open, so nothing falls between.
async function load(): Promise<void> {
  const done = busy();
  try {
    info.value = await get<Info>("/info");
    setServerTime(info.value.time);
    await Promise.all([hosts.loadHosts(), listed ? undefined : jobs.loadAll()]);
    listed = true;
    setCaughtUp(true);
  } catch {
    // A cut shows in the banner, and opening asks again; anything else is tried again here.
    setTimeout(() => stream && link.value.state === "open" && void load(), AGAIN_MS);
  } finally {
    done();
  }
}

function hear(name: string, data: unknown): void {
  switch (name) {
    case "snapshot": {
      const snapshot = data as Snapshot;
      jobs.reset(snapshot.jobs, snapshot.truncated);
      hosts.reset(snapshot.hosts);
      // After a cut that was too long to resume, what ended meanwhile is in the list only.
      if (listed) void jobs.loadAll().catch(() => {});
      break;
    }
    case "job": {
      const summary = data as JobSummary;
      jobs.put(summary);
      jobEvents.value = { id: summary.id, count: jobEvents.value.count + 1 };
      break;
    }
    case "job-removed":
      jobs.remove((data as { id: number }).id);
      break;
    case "host":
      hosts.put(data as Host);
      break;
    case "problems":
      if (info.value) info.value = { ...info.value, ...(data as Problems) };
  }
}
