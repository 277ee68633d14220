// One host: a bar for each of its processors, what runs on it above them, levels beside them.

import { useCallback } from "preact/hooks";
import type { CpuUse, Gpu, Host, JobSummary } from "../api/types";
import { nameOf, shownName } from "../model/name";
import { bytes, percent, rate } from "../model/units";
import { now } from "../state/clock";
import { isOld, RECENT, recentUse } from "../state/hosts";
import { hostPath, jobPath } from "../state/route";
import { token } from "../state/theme";
import { Canvas, type Area } from "./Canvas";
import { When } from "./small";

export function HostTile({ host, jobs }: { host: Host; jobs: readonly JobSummary[] }) {
  const old = isOld(host, now.value);
  const sample = host.sample;
  return (
    <article class={`tile${old ? " lost" : ""}`} aria-label={`Host ${host.name}`}>
      <header>
        <h2>
          <a href={hostPath(host.name)}>{host.name}</a>
        </h2>
        <HostState host={host} />
      </header>
      <ul class="runs" aria-label={`Jobs on ${host.name}`}>
        {jobs.slice(0, 4).map((job) => (
          <li>
            <a href={jobPath(nameOf(job))}>
              {shownName(job)} {job.name}
            </a>
          </li>
        ))}
        {jobs.length > 4 && <li>and {jobs.length - 4} more</li>}
      </ul>
      <CoreBars host={host} />
      {sample && (
        <dl class="levels">
          <Level name="cpu" fraction={busy(host)} text={sample.cpu ? percent(busy(host)) : "–"} />
          <Level name="mem" fraction={memory(host)} text={`${percent(memory(host))} of ${bytes(sample.memory.total)}`} />
          <Pair name="net" down={sample.network?.received} up={sample.network?.sent} />
          <Pair name="disk" down={sample.disk.read} up={sample.disk.written} />
          {sample.gpus && sample.gpus.length > 0 && <Gpus gpus={sample.gpus} />}
        </dl>
      )}
    </article>
  );
}

/// Up, drained, or lost with its last sign of life.
export function HostState({ host }: { host: Host }) {
  if (!isOld(host, now.value)) return <span class={`hoststate ${host.state}`}>{host.state}</span>;
  return (
    <span class="hoststate lost">
      {host.state === "lost" ? "lost" : "silent"}, last seen <When at={host.last_seen} />
      {host.state === "lost" && host.reason && `: ${host.reason}`}
    </span>
  );
}

export function busy(host: Host): number {
  const cpu = host.sample?.cpu?.total;
  return cpu ? cpu.user + cpu.system : 0;
}

export function memory(host: Host): number {
  const level = host.sample?.memory;
  return level && level.total > 0 ? 1 - level.available / level.total : 0;
}

function Level({ name, fraction, text }: { name: string; fraction: number; text: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class={`meter ${name}`} aria-hidden="true">
          <span style={{ transform: `scaleX(${Math.min(1, fraction)})` }} />
        </span>
        <span class="figure">{text}</span>
      </dd>
    </div>
  );
}

/// A bar for each graphics processor, and in words the mean of those that say it, and their memory.
function Gpus({ gpus }: { gpus: readonly Gpu[] }) {
  return (
    <div>
      <dt>gpu</dt>
      <dd>
        <span class="meters" role="img" aria-label={gpus.map((gpu, i) => `graphics processor ${i}: ${gpuText(gpu)}`).join("; ")}>
          {gpus.map((gpu) => (
            <span class="meter gpu" title={gpuText(gpu)}>
              <span style={{ transform: `scaleX(${Math.min(1, gpu.busy ?? 0)})` }} />
            </span>
          ))}
        </span>
        <span class="figure">{gpusText(gpus, false)}</span>
      </dd>
    </div>
  );
}

/// "NVIDIA H100: 37 %, 12.0 GiB of 80.0 GiB".
export function gpuText({ name, busy, memory_used, memory_total }: Gpu): string {
  return `${name}: ${busy == null ? "busy unknown" : percent(busy)}, ${bytes(memory_used)} of ${bytes(memory_total)}`;
}

/// The mean of those that say how busy they are; undefined when none does.
export function gpuBusy(gpus: readonly Gpu[]): number | undefined {
  const known = gpus.flatMap(({ busy }) => (busy == null ? [] : [busy]));
  return known.length === 0 ? undefined : known.reduce((sum, busy) => sum + busy, 0) / known.length;
}

/// All of a host: "37 %, 12.0 GiB of 80.0 GiB", or without the last.
export function gpusText(gpus: readonly Gpu[], whole = true): string {
  const mean = gpuBusy(gpus);
  const sum = (of: (gpu: Gpu) => number) => bytes(gpus.reduce((all, gpu) => all + of(gpu), 0));
  const used = `${mean === undefined ? "–" : percent(mean)}, ${sum((gpu) => gpu.memory_used)}`;
  return whole ? `${used} of ${sum((gpu) => gpu.memory_total)}` : used;
}

function Pair({ name, down, up }: { name: string; down: number | null | undefined; up: number | null | undefined }) {
  const words = name === "net" ? ["in", "out"] : ["read", "write"];
  return (
    <div>
      <dt>{name}</dt>
      <dd class="pair">
        <span>
          <span class="dim">{words[0]}</span> {down == null ? "–" : rate(down)}
        </span>
        <span>
          <span class="dim">{words[1]}</span> {up == null ? "–" : rate(up)}
        </span>
      </dd>
    </div>
  );
}

/// Widest bar of a processor. What few of them leave free shows the last minute.
const WIDEST = 72;

/// A bar per processor: programs at the bottom, kernel above them, waiting for disks on top.
export function CoreBars({ host }: { host: Host }) {
  const cores = host.sample?.cpu?.cores ?? [];
  const draw = useCallback(
    (area: Area) => {
      const room = Math.min(area.width, cores.length * WIDEST);
      bars(area, cores, room);
      if (area.width - room > WIDEST) minute(area, room + 16, recentUse([host.name]));
    },
    [cores],
  );
  const loaded = cores.filter((core) => core.user + core.system > 0.5).length;
  const label = `${cores.length} processors of ${host.name}, ${loaded} more than half busy, ${percent(busy(host))} in all`;
  return <Canvas class="cores" label={label} draw={draw} />;
}

function bars({ context, height }: Area, cores: readonly CpuUse[], width: number): void {
  const gap = cores.length > width / 4 ? 0 : cores.length > 16 ? 1 : 3;
  const each = (width - gap * (cores.length - 1)) / Math.max(1, cores.length);
  cores.forEach((core, i) => {
    const x = i * (each + gap);
    context.fillStyle = token("trough");
    context.fillRect(x, 0, each, height);
    let bottom = height;
    for (const [part, color] of [[core.user, "bar"], [core.system, "bar-2"], [core.iowait, "bar-3"]] as const) {
      const tall = Math.min(bottom, part * height);
      context.fillStyle = token(color);
      context.fillRect(x, bottom - tall, each, tall);
      bottom -= tall;
    }
  });
}

/// All processors in the last minute, the newest on the right.
function minute({ context, width, height }: Area, left: number, values: readonly number[]): void {
  context.fillStyle = token("trough");
  context.fillRect(left, 0, width - left, height);
  const step = (width - left) / (RECENT - 1);
  const x = (i: number) => width - (values.length - 1 - i) * step;
  const y = (value: number) => height - Math.min(1, value) * height;
  context.beginPath();
  values.forEach((value, i) => context.lineTo(x(i), y(value)));
  context.strokeStyle = token("bar");
  context.lineWidth = 1.5;
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(x(0), height);
  context.globalAlpha = 0.25;
  context.fillStyle = token("bar");
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = token("dim");
  context.font = "11px system-ui";
  context.fillText("all processors, last minute", left + 8, 16);
}
