// Many hosts as a field of bars, one column each: processor, memory, network, disk. One canvas
// draws a thousand of them each second; the list of hosts says the same in words.

import { useCallback, useState } from "preact/hooks";
import type { Host } from "../api/types";
import { percent } from "../model/units";
import { now } from "../state/clock";
import { isOld } from "../state/hosts";
import { go, hostPath } from "../state/route";
import { token } from "../state/theme";
import { Canvas, type Area } from "./Canvas";
import { busy, memory } from "./HostTile";

/// Height of a row of columns, and the least width of a column, in pixels.
const ROW = 72;
const COLUMN = 16;

export function Field({ hosts }: { hosts: readonly Host[] }) {
  const [over, setOver] = useState<Host>();
  const draw = useCallback((area: Area) => hosts.forEach((host, i) => column(area, host, i, hosts.length)), [hosts]);
  const at = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const { columns, width } = layout(box.width, hosts.length);
    const index = Math.floor((event.clientY - box.top) / ROW) * columns + Math.floor((event.clientX - box.left) / width);
    return hosts[index];
  };
  const up = hosts.filter((host) => !isOld(host, now.value));
  const mean = up.reduce((sum, host) => sum + busy(host), 0) / Math.max(1, up.length);
  return (
    <div class="field">
      <Canvas
        class={hosts.length > 400 ? "many" : hosts.length > 150 ? "some" : "few"}
        label={`${hosts.length} hosts, ${up.length} up, processors ${percent(mean)} busy. The page Hosts lists them.`}
        draw={draw}
        onPointerMove={(event) => setOver(at(event))}
        onClick={(event) => {
          const host = at(event);
          if (host) go(hostPath(host.name));
        }}
      />
      <p class="dim" aria-hidden="true">
        {over
          ? `${over.name}: processor ${percent(busy(over))}, memory ${percent(memory(over))}`
          : "Each column is a host: processor, memory, network, disk. Point at one for its name."}
      </p>
    </div>
  );
}

function layout(width: number, count: number): { columns: number; width: number } {
  const columns = Math.max(1, Math.min(count, Math.floor(width / COLUMN)));
  return { columns, width: width / columns };
}

function column({ context, width }: Area, host: Host, index: number, count: number): void {
  const grid = layout(width, count);
  const x = (index % grid.columns) * grid.width;
  const y = Math.floor(index / grid.columns) * ROW;
  const tall = ROW - 8;
  const each = Math.max(1, (grid.width - 4) / 4);
  const lost = isOld(host, now.peek());
  const values = [busy(host), memory(host), speed(traffic(host)), speed(storage(host))];
  const colors = ["bar", "bar-2", "bar-3", "bar-4"];
  values.forEach((value, i) => {
    context.fillStyle = token("trough");
    context.fillRect(x + i * each, y, each - 0.5, tall);
    context.fillStyle = token(lost ? "gone" : (colors[i] ?? "bar"));
    const height = lost ? 2 : Math.max(1, Math.min(1, value) * tall);
    context.fillRect(x + i * each, y + tall - height, each - 0.5, height);
  });
}

const traffic = (host: Host): number => (host.sample?.network?.received ?? 0) + (host.sample?.network?.sent ?? 0);
const storage = (host: Host): number => (host.sample?.disk.read ?? 0) + (host.sample?.disk.written ?? 0);

/// Bytes per second as a height: by orders of magnitude from 1 KiB/s to 16 GiB/s.
function speed(value: number): number {
  return value < 1024 ? 0 : Math.log2(value / 1024) / 24;
}
