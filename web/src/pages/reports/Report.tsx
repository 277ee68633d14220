// One report, as the page that its job has written: in a frame that runs nothing and may ask for nothing.

import { API, get, request } from "../../api/client";
import type { Job } from "../../api/types";
import { Trouble } from "../../components/small";
import { StateOf } from "../../components/State";
import * as jobs from "../../state/jobs";
import { useResource } from "../../state/resource";
import { jobPath, reportPath } from "../../state/route";
import { Links } from "./Reports";

export function Report({ id: name }: { id: string }) {
  jobs.version.value;
  const asked = useResource(`/jobs/${name}`, (signal) => get<Job>(`/jobs/${name}`, signal));
  const job = asked.value && (jobs.job(asked.value.id) ?? asked.value);
  const over = job?.state === "ended";
  const place = `/jobs/${name}/report`;
  const page = useResource(over ? place : undefined, async (signal) => (await request(place, { signal, headers: { Accept: "text/html" } })).status);
  return (
    <div class="fill">
      <div class="bar">
        <h1>Report {name}</h1>
        {job && <StateOf job={job} />}
        {page.value && (
          <a class="button" href={`${API}${place}?download=1`} download={`report-${name}.html`}>
            Download
          </a>
        )}
        <Links name={name} />
      </div>
      <Trouble error={asked.error} retry={asked.reload} />
      {job && !over && <Meanwhile job={job} name={name} />}
      {page.error ? <Trouble error={page.error} retry={page.reload} /> : null}
      {page.value && <iframe class="report" title={`Report ${name}`} src={`${API}${place}`} sandbox="" />}
    </div>
  );
}

function Meanwhile({ job, name }: { job: { state: string; reason?: string | null }; name: string }) {
  return (
    <p class="standing">
      {job.state === "running" ? "It is being measured; the report shows here when it is whole. " : `${job.reason ?? "It waits."} `}
      <a href={`${jobPath(name)}?stream=stderr`}>What it does now</a>
    </p>
  );
}

export const linkTo = (name: string) => <a href={reportPath(name)}>Report {name}</a>;
