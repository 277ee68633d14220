// The life of a job and what its hosts did meanwhile, on one axis.

import { useCallback, useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { get } from "../../api/client";
import type { Job, Series } from "../../api/types";
import { Chart } from "../../components/Chart";
import { Panel, Trouble, When } from "../../components/small";
import { word } from "../../model/outcome";
import { columns, meanUse } from "../../model/series";
import { duration, percent } from "../../model/units";
import { now } from "../../state/clock";
import { useResource } from "../../state/resource";
import { token } from "../../state/theme";

/// Hosts whose history is asked for; the mean of so many is not another with more.
const MOST_HOSTS = 8;

interface Moment {
  word: string;
  at: string;
}

export function TimelineTab({ job }: { job: Job }) {
  const list = moments(job);
  return (
    <div class="split">
      <Panel title="States">
        <ol class="moments">
          {list.map((moment, i) => (
            <li>
              <strong>{moment.word}</strong> <When at={moment.at} />
              <span class="dim"> {new Date(moment.at).toLocaleString()}</span>
              <Lasted from={moment.at} to={list[i + 1]?.at} last={i + 1 === list.length && job.state === "ended"} />
            </li>
          ))}
        </ol>
      </Panel>
      {job.started && <Use job={job} moments={list} />}
    </div>
  );
}

function moments(job: Job): Moment[] {
  const list: Moment[] = [{ word: "submitted", at: job.submitted }];
  if (job.started) list.push({ word: "running", at: job.started });
  if (job.ended) list.push({ word: word(job), at: job.ended });
  return list;
}

function Lasted({ from, to, last }: { from: string; to: string | undefined; last: boolean }) {
  if (last) return null;
  const end = to ? Date.parse(to) : now.value;
  return <span class="dim"> for {duration((end - Date.parse(from)) / 1000)}</span>;
}

function Use({ job, moments: list }: { job: Job; moments: Moment[] }) {
  const started = Date.parse(job.started ?? job.submitted);
  const ended = job.ended ? Date.parse(job.ended) : undefined;
  const recent = now.peek() - started < 3_600_000;
  const names = job.hosts.slice(0, MOST_HOSTS);
  const range = recent ? "hour" : "day";
  const { value, error, reload } = useResource(`${names.join()} ${range} ${job.state}`, (signal) => {
    const path = (name: string) => `/hosts/${encodeURIComponent(name)}/history?range=${range}`;
    return Promise.all(names.map((name) => get<Series>(path(name), signal)));
  });
  const data = useMemo(() => {
    if (!value) return undefined;
    const { time, cpu } = meanUse(value.map(columns));
    const before = 0.1 * ((ended ?? Math.max(...time) * 1000) - started);
    const first = time.findIndex((at) => at * 1000 >= started - Math.max(30_000, before));
    if (first < 0) return undefined;
    // Of one that has ended, as much as before it.
    const after = ended === undefined ? Infinity : ended + Math.max(30_000, 0.1 * (ended - started));
    const last = time.findLastIndex((at) => at * 1000 <= after) + 1;
    return last <= first ? undefined : [time.slice(first, last), cpu.slice(first, last)];
  }, [value, started, ended]);
  const over = useCallback((plot: uPlot) => marks(plot, list), [job.state, job.started]);
  return (
    <Panel title="Processors of its hosts">
      <Trouble error={error} retry={reload} />
      {data && (
        <Chart label="Mean use" data={data} top={1} format={percent} lines={[{ label: "processors", color: "bar" }]} over={over} />
      )}
    </Panel>
  );
}

/// A line and a word where a state begins.
function marks(plot: uPlot, list: Moment[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = token("accent");
  ctx.font = `${11 * devicePixelRatio}px system-ui`;
  ctx.textAlign = "left";
  for (const [i, moment] of list.entries()) {
    const x = plot.valToPos(Date.parse(moment.at) / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    // One under the other: short jobs have their moments close together.
    ctx.fillText(moment.word, x + 4 * devicePixelRatio, bbox.top + (12 + 14 * i) * devicePixelRatio);
  }
  ctx.restore();
}
