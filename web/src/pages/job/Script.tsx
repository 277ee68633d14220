// What was submitted: script or command, and everything asked for.

import type { Job } from "../../api/types";
import { Command } from "../../components/small";
import { dependencies } from "../../model/draft";
import { joinWords } from "../../model/words";
import { bytes, duration, ranges } from "../../model/units";

export function ScriptTab({ job }: { job: Job }) {
  const spec = job.spec;
  const env = Object.entries(spec.env ?? {});
  return (
    <>
      <h2>As a command</h2>
      <Command text={job.command_line} />
      <dl class="facts">
        {facts(job).map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      {env.length > 0 && (
        <details>
          <summary>Environment: {env.length} variables</summary>
          <pre tabIndex={0}>{env.map(([name, value]) => `${name}=${value}`).join("\n")}</pre>
        </details>
      )}
      <h2>{spec.script != null ? "Script" : "Program"}</h2>
      <pre tabIndex={0}>{spec.script ?? joinWords(spec.command ?? [])}</pre>
    </>
  );
}

/// The processors of each host, as `hpvm show` has them.
function holds({ allocation = [] }: Job): string {
  const known = allocation.filter(({ processors = [] }) => processors.length > 0);
  return known.map(({ host, processors = [] }) => `${processors.length === 1 ? "processor" : "processors"} ${ranges(processors)} of ${host}`).join(", ");
}

function facts(job: Job): [string, string][] {
  const { spec } = job;
  const list: [string, string | number | null | undefined][] = [
    ["Ranks", job.ranks],
    ["Processors per rank", spec.cpus_per_rank],
    ["Holds", holds(job)],
    ["CPU binding", spec.cpu_bind],
    ["Hosts", spec.nodes],
    ["Time limit", spec.time_limit_seconds == null ? null : duration(spec.time_limit_seconds)],
    ["Memory", spec.memory_bytes == null ? null : bytes(spec.memory_bytes)],
    ["Processes at most", spec.max_processes],
    ["GPUs", spec.gpus],
    ["Only on hosts", spec.hosts?.join(", ")],
    ["Queue", job.queue],
    ["Priority", job.priority],
    ["Array", spec.array],
    ["After", dependencies(spec)],
    ["Folder", spec.workdir],
  ];
  return list.flatMap(([name, value]) => (value == null || value === "" ? [] : [[name, String(value)]]));
}
