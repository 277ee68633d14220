// Many hosts as a field of bars, one column each: processor, memory, network, disk, and graphics
// processors where a host has some. One canvas
// draws a thousand of them each second; the list of hosts says the same in words.

import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Host } from "../api/types";
import { percent } from "../model/units";
import { now } from "../state/clock";
import { isOld } from "../state/hosts";
import { go, hostPath } from "../state/route";
import { token } from "../state/theme";
import { Canvas, type Area } from "./Canvas";
import { busy, gpuBusy, memory } from "./HostTile";

/// Height of a row of columns, and the least width of a column, in pixels.
const SIZES = { row: 72, column: 16 };

/// The same where there are more hosts than this: all of them on one screen.
const MANY = 200;
const SMALL = { row: 44, column: 10 };

export function Field({ hosts }: { hosts: readonly Host[] }) {
  const [over, setOver] = useState<Host>();
  const box = useRef<HTMLDivElement>(null);
  const room = useWidth(box);
  const graphics = hosts.some((host) => (host.sample?.gpus ?? []).length > 0);
  const draw = useCallback((area: Area) => hosts.forEach((host, i) => column(area, host, i, hosts.length, graphics)), [hosts, graphics]);
  const at = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const { columns, width, row } = layout(box.width, hosts.length);
    const index = Math.floor((event.clientY - box.top) / row) * columns + Math.floor((event.clientX - box.left) / width);
    return hosts[index];
  };
  const up = hosts.filter((host) => !isOld(host, now.value));
  const mean = up.reduce((sum, host) => sum + busy(host), 0) / Math.max(1, up.length);
  return (
    <div class="field" ref={box}>
      <Canvas
        height={layout(room, hosts.length).height}
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
          ? `${over.name}: processor ${percent(busy(over))}, memory ${percent(memory(over))}${graphicsOf(over)}`
          : `Each column is a host: processor, memory, network, disk${graphics ? ", graphics" : ""}. Point at one for its name.`}
      </p>
    </div>
  );
}

function graphicsOf(host: Host): string {
  const mean = gpuBusy(host.sample?.gpus ?? []);
  return mean === undefined ? "" : `, graphics ${percent(mean)}`;
}

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(1000);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

interface Layout {
  columns: number;
  /// Of a column.
  width: number;
  /// Height of a row, and of all.
  row: number;
  height: number;
}

function layout(width: number, count: number): Layout {
  const size = count > MANY ? SMALL : SIZES;
  const columns = Math.max(1, Math.min(count, Math.floor(width / size.column)));
  return { columns, width: width / columns, row: size.row, height: Math.ceil(count / columns) * size.row };
}

function column({ context, width }: Area, host: Host, index: number, count: number, graphics: boolean): void {
  const grid = layout(width, count);
  const x = (index % grid.columns) * grid.width;
  const y = Math.floor(index / grid.columns) * grid.row;
  const tall = grid.row - 8;
  // Few hosts have wide columns; their bars stay slim.
  const each = Math.max(1, Math.min(16, (grid.width - 2) / (graphics ? 5 : 4)));
  const lost = isOld(host, now.peek());
  const values = [busy(host), memory(host), speed(traffic(host)), speed(storage(host))];
  if (graphics) values.push(gpuBusy(host.sample?.gpus ?? []) ?? 0);
  const colors = ["bar", "bar-2", "bar-3", "bar-4", "bar-5"];
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
