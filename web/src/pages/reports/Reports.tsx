// Evaluations: start one, those that there are, two of them beside each other.

import { useEffect, useState } from "preact/hooks";
import { newKey, post } from "../../api/client";
import type { Job, JobSpec, JobSummary } from "../../api/types";
import { Command, Empty, Panel, Trouble, When } from "../../components/small";
import { StateOf } from "../../components/State";
import { nameOf } from "../../model/name";
import { ran } from "../../model/outcome";
import { EVALUATION } from "../../model/report";
import { duration } from "../../model/units";
import { now } from "../../state/clock";
import * as hosts from "../../state/hosts";
import { busy } from "../../state/idle";
import * as jobs from "../../state/jobs";
import { info } from "../../state/live";
import { go, jobPath, reportPath } from "../../state/route";
import { useDoing } from "../admin/doing";

export function Reports() {
  const list = useEvaluations();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (name: string, on: boolean) =>
    setChosen(on ? [...chosen.slice(-1), name] : chosen.filter((each) => each !== name));
  const [before, after] = [...chosen].sort((a, b) => Number.parseInt(a) - Number.parseInt(b));
  return (
    <>
      <h1>Reports</h1>
      <Start />
      <Panel
        title="Evaluations"
        aside={
          <button
            type="button"
            disabled={!before || !after}
            title={after ? undefined : "Choose two reports first"}
            onClick={() => go(`/reports/compare?before=${before}&now=${after}`)}
          >
            Compare two
          </button>
        }
      >
        <Trouble error={list.error} />
        {list.jobs.length > 0 ? (
          <Table list={list.jobs} chosen={chosen} choose={choose} />
        ) : (
          list.asked && (
            <Empty title="There are no reports yet. Start one above, or on the command line:">
              <Command text={`hpvm submit -J ${EVALUATION} --wrap 'hpvm bench report --quick -o -'`} />
            </Empty>
          )
        )}
      </Panel>
    </>
  );
}

/// Jobs that are evaluations, newest first: those that the page knows, and others are asked for once.
function useEvaluations(): { jobs: JobSummary[]; asked: boolean; error: unknown } {
  jobs.version.value;
  const [state, setState] = useState<{ asked: boolean; error?: unknown }>({ asked: false });
  useEffect(() => {
    const stop = new AbortController();
    const done = busy();
    jobs
      .search(new URLSearchParams({ name: EVALUATION }), stop.signal)
      .then(() => setState({ asked: true }), (error: unknown) => stop.signal.aborted || setState({ asked: true, error }))
      .finally(done);
    return () => stop.abort();
  }, []);
  const found = [...jobs.allJobs()].filter((job) => job.name === EVALUATION);
  return { jobs: found.sort((a, b) => b.id - a.id), asked: state.asked, error: state.error };
}

const HEADS = ["Compare", "Report", "State", "Host", "Begun", "Took"];

function Table({ list, chosen, choose }: { list: JobSummary[]; chosen: readonly string[]; choose: (name: string, on: boolean) => void }) {
  return (
    <div class="wide" role="region" aria-label="Table of reports" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th scope="col" class={head === "Took" ? "number" : ""}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {list.map((job) => {
            const name = nameOf(job);
            const seconds = ran(job, now.value);
            return (
              <tr key={job.id}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Compare report ${name}`}
                    disabled={job.state !== "ended"}
                    checked={chosen.includes(name)}
                    onChange={(event) => choose(name, event.currentTarget.checked)}
                  />
                </td>
                <th scope="row">
                  <a href={reportPath(name)}>Report {name}</a>
                </th>
                <td>
                  <StateOf job={job} />
                </td>
                <td>{job.hosts.join(", ") || "–"}</td>
                <td>
                  <When at={job.started ?? job.submitted} />
                </td>
                <td class="number">{seconds === undefined ? "–" : duration(seconds)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/// A job that measures with all processors of a host, so that nothing that we start disturbs it.
function Start() {
  hosts.version.value;
  const doing = useDoing();
  const [quick, setQuick] = useState(true);
  const most = Math.max(1, ...hosts.allHosts().map((host) => host.cpus));
  const flags = quick ? "report --quick -o -" : "report -o -";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const at = jobs.mark();
    void doing.run(async () => {
      const job = await post<Job>("/jobs", evaluation(info.value?.program ?? "hpvm", flags, most), { "Idempotency-Key": newKey() });
      jobs.merge([job], at);
      go(reportPath(nameOf(job)));
    });
  };
  return (
    <Panel title="Start an evaluation">
      <p class="dim">
        Measures latency, bandwidth, collectives and more on one host, with all of its processors, and ends with one page of plots and tables.
      </p>
      <form class="bar" onSubmit={submit}>
        <label class="inline">
          How thorough
          <select value={quick ? "quick" : "whole"} onChange={(event) => setQuick(event.currentTarget.value === "quick")}>
            <option value="quick">quick: one or two minutes</option>
            <option value="whole">whole: some ten minutes</option>
          </select>
        </label>
        <button type="submit" class="primary" disabled={doing.waits}>
          {doing.waits ? "Starting …" : "Start evaluation"}
        </button>
        <Trouble error={doing.error} />
      </form>
      <p class="dim">The same on the command line:</p>
      <Command text={`hpvm submit -J ${EVALUATION} -n ${most} --wrap 'hpvm bench ${flags}'`} />
    </Panel>
  );
}

function evaluation(program: string, flags: string, ranks: number): JobSpec {
  const quoted = `'${program.replaceAll("'", "'\\''")}'`;
  return { name: EVALUATION, ranks, nodes: 1, script: `#!/bin/sh\nexec ${quoted} bench ${flags}\n`, env: { HPVM_MONITOR: "0" } };
}

/// Where the reader goes from a report.
export function Links({ name }: { name: string }) {
  return (
    <nav class="bar" aria-label="Of this report">
      <a href="/reports">All reports</a>
      <a href={jobPath(name)}>Its job</a>
    </nav>
  );
}
