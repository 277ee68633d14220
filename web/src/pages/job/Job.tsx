// One job: how it stands, what can be done with it, and its tabs.

import { useRef } from "preact/hooks";
import { get, Refused } from "../../api/client";
import type { Job } from "../../api/types";
import { Later } from "../../components/Later";
import { Empty, Progress, Trouble, When } from "../../components/small";
import { StateOf } from "../../components/State";
import { useKeys } from "../../keys/keys";
import { shownName } from "../../model/name";
import { word } from "../../model/outcome";
import * as jobs from "../../state/jobs";
import { jobEvents } from "../../state/live";
import { go, hostPath, JOB_TABS, jobPath, type JobTab } from "../../state/route";
import { useResource, type Resource } from "../../state/resource";
import { Why } from "../Overview";
import { Actions } from "./Actions";
import { OutputTab } from "./Output";

export function JobPage({ id, tab }: { id: string; tab: JobTab }) {
  const { job, resource } = useJob(id);
  useKeys("Job", JOB_TABS.map((name, i) => ({
    keys: String(i + 1),
    does: `tab ${name}`,
    run: () => go(jobPath(id, name), true),
  })));
  if (resource.error instanceof Refused && resource.error.status === 404) {
    return (
      <Empty title={`There is no job ${id}, or it is not yours.`}>
        <a href="/jobs">All jobs</a>
      </Empty>
    );
  }
  if (!job) return <Trouble error={resource.error} retry={resource.reload} />;
  return (
    <div class="fill job">
      <header class="jobhead">
        <h1>
          <span class="dim">Job</span> {shownName(job)} {job.name}
        </h1>
        <StateOf job={job} />
        <Progress job={job} />
        <Place job={job} />
        <Actions job={job} changed={resource.reload} />
      </header>
      <Standing job={job} />
      <Trouble error={resource.error} retry={resource.reload} />
      <Tabs id={id} tab={tab} />
      <div class="fill" role="tabpanel" id="tabpanel" aria-labelledby={`tab-${tab}`}>
        <Tab job={job} tab={tab} />
      </div>
    </div>
  );
}

/// All there is to know, asked again when an event says that the job changed.
function useJob(id: string): { job: Job | undefined; resource: Resource<Job> } {
  const turn = useRef(0);
  const number = useRef(Number(id));
  if (jobEvents.value.id === number.current) turn.current = jobEvents.value.count;
  const resource = useResource(`/jobs/${id}`, (signal) => get<Job>(`/jobs/${id}`, signal), turn.current);
  jobs.version.value;
  number.current = resource.value?.id ?? number.current;
  const summary = jobs.job(number.current);
  return { job: resource.value && (summary ? { ...resource.value, ...summary } : resource.value), resource };
}

function Place({ job }: { job: Job }) {
  return (
    <span class="dim">
      {job.ranks} {job.ranks === 1 ? "rank" : "ranks"}
      {job.hosts.length > 0 && " on "}
      {job.hosts.slice(0, 6).map((host, i) => (
        <>
          {i > 0 && ", "}
          <a href={hostPath(host)}>{host}</a>
        </>
      ))}
      {job.hosts.length > 6 && ` and ${job.hosts.length - 6} more`}
      {" · "}
      {job.user}
      {" · submitted "}
      <When at={job.submitted} />
    </span>
  );
}

/// Why it waits, or how it ended, as a sentence.
function Standing({ job }: { job: Job }) {
  const detail = job.outcome?.detail;
  if (job.state !== "ended" && (job.reason || job.estimated_start)) {
    return (
      <p class="standing">
        <Why job={job} />
      </p>
    );
  }
  const before = job.last_failure;
  const again = job.restarts && before && `Restart ${job.restarts}: ${before.detail ?? word({ ...job, outcome: before, state: "ended" })}`;
  const text = [detail, again].filter(Boolean).join("; ");
  return text ? <p class="standing">{text}</p> : null;
}

const TITLES: Record<JobTab, string> = {
  output: "Output",
  ranks: "Ranks",
  counters: "Counters",
  timeline: "Timeline",
  files: "Files",
  script: "Script",
};

function Tabs({ id, tab }: { id: string; tab: JobTab }) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = JOB_TABS[(JOB_TABS.indexOf(tab) + step + JOB_TABS.length) % JOB_TABS.length] ?? tab;
    go(jobPath(id, next), true);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={`Job ${id}`} onKeyDown={move}>
      {JOB_TABS.map((name) => (
        <a
          role="tab"
          id={`tab-${name}`}
          href={jobPath(id, name)}
          aria-selected={name === tab}
          aria-controls="tabpanel"
          tabIndex={name === tab ? 0 : -1}
        >
          {TITLES[name]}
        </a>
      ))}
    </div>
  );
}

const perRank = () => import("./perRank");
const later = () => import("../later");

function Tab({ job, tab }: { job: Job; tab: JobTab }) {
  switch (tab) {
    case "output":
      return <OutputTab job={job} />;
    case "ranks":
      return <Later load={perRank} show={({ RanksTab }) => <RanksTab job={job} />} />;
    case "counters":
      return <Later load={perRank} show={({ CountersTab }) => <CountersTab job={job} />} />;
    case "timeline":
      return <Later load={later} show={({ TimelineTab }) => <TimelineTab job={job} />} />;
    case "files":
      return <Later load={later} show={({ FilesTab }) => <FilesTab job={job} />} />;
    case "script":
      return <Later load={later} show={({ ScriptTab }) => <ScriptTab job={job} />} />;
  }
}
