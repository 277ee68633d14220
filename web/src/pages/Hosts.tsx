// The hosts: bars for those few, a field and a table for many.

import type { Host } from "../api/types";
import { Field } from "../components/Field";
import { busy, gpusText, HostState, memory, HostTile } from "../components/HostTile";
import { Empty } from "../components/small";
import { useView } from "../components/VirtualList";
import { bytes, percent, rate } from "../model/units";
import * as hosts from "../state/hosts";
import * as jobs from "../state/jobs";
import { hostPath } from "../state/route";
import { now } from "../state/clock";
import { useRef } from "preact/hooks";

const MOST_TILES = 24;
const ROW = 28;

export function Hosts() {
  hosts.version.value;
  jobs.version.value;
  const list = hosts.allHosts();
  if (hosts.loaded.value && list.length === 0) {
    return <Empty title="No host takes part yet." />;
  }
  const running = [...jobs.allJobs()].filter((job) => job.state === "running");
  return (
    <>
      <h1 class="hidden">Hosts</h1>
      {list.length > MOST_TILES ? (
        <>
          <Field hosts={list} />
          <Table hosts={list} />
        </>
      ) : (
        <section class="tiles large" aria-label="Hosts">
          {list.map((host) => (
            <HostTile host={host} jobs={running.filter((job) => job.hosts.includes(host.name))} />
          ))}
        </section>
      )}
    </>
  );
}

const HEADS = ["Host", "State", "CPU", "Memory", "GPU", "Net in", "Net out", "Load"];

function Table({ hosts: list }: { hosts: readonly Host[] }) {
  const box = useRef<HTMLDivElement>(null);
  const view = useView(box, list.length, ROW);
  return (
    <div class="scroll hosts" ref={box} tabIndex={0} role="region" aria-label="Table of hosts">
      <table aria-rowcount={list.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {HEADS.map((head, i) => (
              <th scope="col" class={i < 2 ? "" : "number"}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Space rows={view.first} />
          {list.slice(view.first, view.last).map((host, i) => (
            <Row key={host.name} host={host} index={view.first + i + 2} />
          ))}
          <Space rows={list.length - view.last} />
        </tbody>
      </table>
    </div>
  );
}

/// Keeps the place of rows that are not in the DOM.
function Space({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td colSpan={HEADS.length} style={{ height: `${rows * ROW}px`, padding: 0 }} />
    </tr>
  );
}

function Row({ host, index }: { host: Host; index: number }) {
  const sample = host.sample;
  return (
    <tr aria-rowindex={index} class={hosts.isOld(host, now.value) ? "lost" : ""}>
      <th scope="row">
        <a href={hostPath(host.name)}>{host.name}</a>
      </th>
      <td>
        <HostState host={host} />
      </td>
      <td class="number">{sample?.cpu ? percent(busy(host)) : "–"}</td>
      <td class="number">{sample ? `${percent(memory(host))} of ${bytes(sample.memory.total)}` : "–"}</td>
      <td class="number">{sample?.gpus?.length ? gpusText(sample.gpus) : "–"}</td>
      <td class="number">{sample?.network ? rate(sample.network.received) : "–"}</td>
      <td class="number">{sample?.network ? rate(sample.network.sent) : "–"}</td>
      <td class="number">{sample?.load[0]?.toFixed(2) ?? "–"}</td>
    </tr>
  );
}
