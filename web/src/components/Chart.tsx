// A chart over time (uPlot): drag to zoom, double click to see all.

import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { busy } from "../state/idle";
import { dark, token } from "../state/theme";

export interface Line {
  label: string;
  /// A colour of the style sheet.
  color: string;
  /// Dashes tell lines apart without colour.
  dash?: number[];
}

export interface ChartProps {
  label: string;
  /// Seconds, then a column per line; null is a gap.
  data: (number | null)[][];
  lines: Line[];
  format: (value: number) => string;
  /// Values are bytes: round ones are those of 1024.
  binary?: boolean;
  /// Upper end of the axis; without one it follows the data.
  top?: number;
  /// Drawn over the lines.
  over?: (plot: uPlot) => void;
  sync?: string;
}

const HEIGHT = 140;

/// Steps of an axis of bytes.
const BINARY = Array.from({ length: 50 }, (_, i) => 2 ** i);

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const shape = `${dark.value}|${props.lines.map((line) => line.label).join()}|${props.label}`;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    let gone = false;
    const done = busy();
    void import("./plot").then((library) => {
      done();
      if (gone) return;
      const data = latest.current.data as uPlot.AlignedData;
      plot.current = new library.uPlot(options(latest.current, element.clientWidth), data, element);
      observer.observe(element);
    }, done);
    return () => {
      gone = true;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(props.data as uPlot.AlignedData), [props.data]);
  return (
    <figure class="chart">
      <figcaption>{props.label}</figcaption>
      <div ref={box} role="img" aria-label={`${props.label}: ${summary(props)}`} />
    </figure>
  );
}

/// The last values, for who does not see the lines.
function summary(props: ChartProps): string {
  const parts = props.lines.map((line, i) => {
    const last = props.data[i + 1]?.findLast((value) => value !== null);
    return `${line.label} ${last === undefined || last === null ? "unknown" : props.format(last)}`;
  });
  return `last values: ${parts.join(", ")}`;
}

function options(props: ChartProps, width: number): uPlot.Options {
  const grid = { stroke: token("line"), width: 1 };
  const axis = { stroke: token("dim"), grid, ticks: grid, font: "11px system-ui" };
  const top = props.top;
  const made: uPlot.Options = {
    width,
    height: HEIGHT,
    scales: { y: { range: (_, _low, high) => [0, top ?? Math.max(high * 1.1, 1)] } },
    axes: [
      { ...axis, space: 90, size: 32, values: (_, splits) => clockTimes(splits) },
      { ...axis, size: 76, values: (_, values) => values.map(props.format), ...(props.binary ? { incrs: BINARY } : {}) },
    ],
    series: [
      { value: (_: uPlot, at: number | null) => (at === null ? "–" : new Date(at * 1000).toLocaleTimeString()) },
      ...props.lines.map((line) => ({
        label: line.label,
        stroke: token(line.color),
        width: 1.5,
        dash: line.dash ?? [],
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? "–" : props.format(value)),
      })),
    ],
    hooks: { draw: props.over ? [props.over] : [] },
  };
  if (props.sync) made.cursor = { sync: { key: props.sync } };
  return made;
}

/// "21:05", with seconds where the axis shows them.
function clockTimes(seconds: number[]): string[] {
  const fine = (seconds[1] ?? 0) - (seconds[0] ?? 0) < 60;
  const parts: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (fine) parts.second = "2-digit";
  const format = new Intl.DateTimeFormat(undefined, parts);
  return seconds.map((at) => format.format(at * 1000));
}
