// Everything at a glance: hosts as bars, what runs, what waits and why, what ended.

import type { ComponentChildren } from "preact";
import type { JobSummary } from "../api/types";
import { Field } from "../components/Field";
import { HostTile } from "../components/HostTile";
import { Command, Empty, HintNote, Panel, Progress, When } from "../components/small";
import { StateOf } from "../components/State";
import * as hosts from "../state/hosts";
import * as jobs from "../state/jobs";
import { nameOf, shownName } from "../model/name";
import { since } from "../model/outcome";
import { jobPath } from "../state/route";

/// More hosts than this are a field of columns, not tiles.
const MOST_TILES = 12;

/// Rows of each list here; the page Jobs has them all.
const ROWS = 8;

export function Overview() {
  hosts.version.value;
  jobs.version.value;
  const all = [...jobs.allJobs()];
  const running = all.filter((job) => job.state === "running").sort((a, b) => a.id - b.id);
  const waiting = all.filter((job) => job.state !== "running" && job.state !== "ended").sort(waitOrder);
  const ended = all.filter((job) => job.state === "ended").sort((a, b) => since(b) - since(a));
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <HintNote name="overview">
        Each second the bars show what processors do: programs below, the kernel above. Jobs of a host are named over them.
      </HintNote>
      <HostsPart running={running} />
      <div class="columns">
        <Panel title="Running" aside={<Count of={running} filter="state:running" />}>
          <List jobs={running} empty="Nothing runs.">
            {(job) => <Progress job={job} />}
          </List>
        </Panel>
        <Panel title="Waiting" aside={<Count of={waiting} filter="state:pending,held" />}>
          <List jobs={waiting} empty="Nothing waits.">
            {(job) => <Why job={job} />}
          </List>
        </Panel>
        <Panel title="Ended last" aside={<Count of={ended} filter="state:ended" more={jobs.more.value} />}>
          <List jobs={ended} empty="Nothing has ended yet.">
            {(job) => <When at={job.ended} />}
          </List>
        </Panel>
      </div>
      {all.length === 0 && (
        <Empty title="No job was submitted yet. In a terminal:">
          <Command text="hpvm submit -n 4 ./program" />
          <p>
            or <a href="/submit">fill in a form</a>.
          </p>
        </Empty>
      )}
    </>
  );
}

function HostsPart({ running }: { running: readonly JobSummary[] }) {
  const list = hosts.allHosts();
  if (list.length > MOST_TILES) return <Field hosts={list} />;
  return (
    <section class="tiles" aria-label="Hosts">
      {list.map((host) => (
        <HostTile host={host} jobs={running.filter((job) => job.hosts.includes(host.name))} />
      ))}
    </section>
  );
}

function Count({ of, filter, more }: { of: readonly unknown[]; filter: string; more?: boolean }) {
  return (
    <a href={`/jobs?filter=${encodeURIComponent(filter)}`}>
      {of.length}
      {more ? "+" : ""}
    </a>
  );
}

interface ListProps {
  jobs: readonly JobSummary[];
  empty: string;
  children: (job: JobSummary) => ComponentChildren;
}

function List({ jobs, empty, children }: ListProps) {
  if (jobs.length === 0) return <p class="dim">{empty}</p>;
  return (
    <ul class="jobs">
      {jobs.slice(0, ROWS).map((job) => (
        <li key={job.id}>
          <a href={jobPath(nameOf(job))}>
            <span class="number">{shownName(job)}</span> {job.name}
          </a>
          <StateOf job={job} />
          <span class="more">{children(job)}</span>
        </li>
      ))}
    </ul>
  );
}

/// Why it waits, and until when at the latest.
export function Why({ job }: { job: JobSummary }) {
  return (
    <>
      {job.reason}
      {job.estimated_start && (
        <span class="dim">
          {job.reason ? " · starts " : "starts "}
          <When at={job.estimated_start} /> at the latest
        </span>
      )}
    </>
  );
}

/// First to start first: known starts, then by priority and number.
function waitOrder(a: JobSummary, b: JobSummary): number {
  const start = (job: JobSummary) => (job.estimated_start ? Date.parse(job.estimated_start) : Infinity);
  return (start(a) === start(b) ? 0 : start(a) - start(b)) || b.priority - a.priority || a.id - b.id;
}
