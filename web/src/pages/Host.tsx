// One host: its bars now, its last hour or day.

import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { HostSample, Series } from "../api/types";
import { Chart } from "../components/Chart";
import { gpuText, HostTile } from "../components/HostTile";
import { Empty, Trouble } from "../components/small";
import { columns } from "../model/series";
import { percent, rate, span, bytes } from "../model/units";
import * as hosts from "../state/hosts";
import * as jobs from "../state/jobs";
import { address, setParameter } from "../state/route";
import { useResource } from "../state/resource";

const RANGES = ["hour", "day"] as const;

export function HostPage({ name }: { name: string }) {
  hosts.version.value;
  jobs.version.value;
  const host = hosts.host(name);
  if (!host) {
    if (!hosts.loaded.value) return null;
    return (
      <Empty title={`There is no host ${name}.`}>
        <a href="/hosts">All hosts</a>
      </Empty>
    );
  }
  const running = [...jobs.allJobs()].filter((job) => job.state === "running" && job.hosts.includes(name));
  return (
    <>
      <h1>Host {name}</h1>
      <section class="tiles one" aria-label="Now">
        <HostTile host={host} jobs={running} />
        {host.sample && <Facts sample={host.sample} cpus={host.cpus} reserved={host.cpus_reserved} />}
      </section>
      <History name={name} sample={host.sample ?? undefined} />
    </>
  );
}

function Facts({ sample, cpus, reserved }: { sample: HostSample; cpus: number; reserved: number }) {
  const room = sample.disk.capacity;
  const swap = sample.memory.swap_total - sample.memory.swap_free;
  return (
    <dl class="facts">
      <dt>Processors</dt>
      <dd>
        {cpus}, {reserved} reserved by jobs
      </dd>
      <dt>Load</dt>
      <dd>{sample.load.map((load) => load.toFixed(2)).join("  ")}</dd>
      <dt>Memory</dt>
      <dd>
        {bytes(sample.memory.available)} available of {bytes(sample.memory.total)}
        {swap > 0 ? `, ${bytes(swap)} swapped` : ""}
      </dd>
      {(sample.gpus ?? []).length > 0 && <dt>Graphics</dt>}
      {sample.gpus?.map((gpu) => <dd>{gpuText(gpu)}</dd>)}
      {room && <dt>Room for data</dt>}
      {room && (
        <dd>
          {bytes(room.available)} of {bytes(room.total)}
        </dd>
      )}
      <dt>Up for</dt>
      <dd>{span(sample.uptime_seconds)}</dd>
    </dl>
  );
}

function History({ name, sample }: { name: string; sample: HostSample | undefined }) {
  const asked = address.value.searchParams.get("range");
  const range = RANGES.find((each) => each === asked) ?? "hour";
  const path = `/hosts/${encodeURIComponent(name)}/history?range=${range}`;
  const { value, error, reload } = useResource(path, (signal) => get<Series>(path, signal));
  const data = useLive(range === "hour" ? value : undefined, sample) ?? (value ? columns(value) : undefined);
  return (
    <section aria-label="History">
      <div class="bar" role="group" aria-label="Range">
        {RANGES.map((each) => (
          <button type="button" class="chip" aria-pressed={each === range} onClick={() => setParameter("range", each)}>
            last {each}
          </button>
        ))}
      </div>
      <Trouble error={error} retry={reload} />
      {data && <Charts data={data} />}
    </section>
  );
}

/// The hour goes on by itself: samples come with the stream.
function useLive(series: Series | undefined, sample: HostSample | undefined): Columns | undefined {
  const [data, setData] = useState<Columns>();
  useEffect(() => setData(series ? columns(series) : undefined), [series]);
  useEffect(() => {
    if (!sample) return;
    setData((former) => former && withSample(former, sample));
  }, [sample]);
  return data;
}

type Columns = ReturnType<typeof columns>;

/// Slots of the last hour.
const HOUR = 3600;

function withSample(former: Columns, sample: HostSample): Columns {
  const at = Math.floor(sample.at_ms / 1000);
  if (at <= (former.time.at(-1) ?? 0)) return former;
  const add = (column: (number | null)[], value: number | null | undefined) => [...column.slice(-HOUR), value ?? null];
  const cpu = sample.cpu?.total;
  const level = sample.memory;
  return {
    time: [...former.time.slice(-HOUR), at],
    cpu: add(former.cpu, cpu && cpu.user + cpu.system),
    memory: add(former.memory, level.total > 0 ? 1 - level.available / level.total : null),
    received: add(former.received, sample.network?.received),
    sent: add(former.sent, sample.network?.sent),
    read: add(former.read, sample.disk.read),
    written: add(former.written, sample.disk.written),
  };
}

function Charts({ data }: { data: Columns }) {
  const { time } = data;
  const use = useMemo(() => [time, data.cpu, data.memory], [data]);
  const net = useMemo(() => [time, data.received, data.sent], [data]);
  const disk = useMemo(() => [time, data.read, data.written], [data]);
  const dash = [4, 3];
  return (
    <div class="charts">
      <Chart
        label="Processors and memory"
        data={use}
        top={1}
        sync="host"
        format={percent}
        lines={[{ label: "processors", color: "bar" }, { label: "memory", color: "bar-3", dash }]}
      />
      <Chart
        label="Network"
        data={net}
        binary
        sync="host"
        format={rate}
        lines={[{ label: "received", color: "bar" }, { label: "sent", color: "bar-3", dash }]}
      />
      <Chart
        label="Disks"
        data={disk}
        binary
        sync="host"
        format={rate}
        lines={[{ label: "read", color: "bar" }, { label: "written", color: "bar-3", dash }]}
      />
    </div>
  );
}
