// Reports of `hpvm bench report`: the data inside of their pages, and what differs between two.

/// Jobs of this name are evaluations.
export const EVALUATION = "evaluation";

interface Point {
  mode: string;
  op?: string;
  type?: string;
  by: string;
  ranks: number;
  size: number;
  unit: string;
  /// Samples by launch.
  launches: number[][];
}

export interface ReportData {
  format: number;
  version: string;
  machine: { host: string; processor?: string };
  time: number;
  complete: boolean;
  finished: { name: string; points?: Point[] }[];
}

/// The form that is read here.
const FORMAT = 1;

/// The data in a report's page; undefined when there are none that this page can read.
export function dataIn(html: string): ReportData | undefined {
  const text = /<script type="application\/json" id="data">([^<]*)<\/script>\s*<\/body>/.exec(html)?.[1];
  if (text === undefined) return undefined;
  try {
    const data = JSON.parse(text) as ReportData;
    return data.format === FORMAT && Array.isArray(data.finished) ? data : undefined;
  } catch {
    return undefined;
  }
}

export interface Difference {
  measurement: string;
  what: string;
  unit: string;
  before: number;
  now: number;
  /// `now` to `before`.
  ratio: number;
  /// "same": within 5 %, or the middle halves of both sets of samples overlap.
  verdict: "better" | "worse" | "same";
}

/// Changes smaller than this are none.
const NOTHING = 0.05;

/// Every value that both have, those that changed most first.
export function compare(before: ReportData, now: ReportData): Difference[] {
  const older = new Map(values(before).map((value) => [value.key, value]));
  const found: Difference[] = [];
  for (const { key, measurement, point } of values(now)) {
    const other = older.get(key)?.point;
    const [a, b] = [quartiles(other), quartiles(point)];
    if (!a || !b || a.median === 0) continue;
    const ratio = b.median / a.median;
    const same = Math.abs(ratio - 1) <= NOTHING || (a.low <= b.high && b.low <= a.high);
    const better = ratio > 1 === largerIsBetter(point.unit);
    found.push({
      measurement,
      what: named(point),
      unit: point.unit,
      before: a.median,
      now: b.median,
      ratio,
      verdict: same ? "same" : better ? "better" : "worse",
    });
  }
  const weight = (each: Difference) => (each.verdict === "same" ? 0 : Math.abs(Math.log(each.ratio)));
  return found.sort((a, b) => weight(b) - weight(a));
}

function values(data: ReportData): { key: string; measurement: string; point: Point }[] {
  return data.finished.flatMap(({ name, points }) =>
    (points ?? []).map((point) => ({
      key: JSON.stringify([name, point.mode, point.op, point.type, point.by, point.ranks, point.size, point.unit]),
      measurement: name,
      point,
    })),
  );
}

function named(point: Point): string {
  const words = [point.op ?? point.mode, point.type, point.by === "hpvm" ? undefined : point.by];
  const size = point.size > 0 ? [`${point.size} B`] : [];
  return [...words.filter(Boolean), `${point.ranks} ${point.ranks === 1 ? "rank" : "ranks"}`, ...size].join(", ");
}

function quartiles(point: Point | undefined): { low: number; median: number; high: number } | undefined {
  const all = (point?.launches ?? []).flat().filter(Number.isFinite).sort((a, b) => a - b);
  if (all.length === 0) return undefined;
  const at = (part: number): number => {
    const place = part * (all.length - 1);
    const [low = 0, high = low] = [all[Math.floor(place)], all[Math.ceil(place)]];
    return low + (high - low) * (place - Math.floor(place));
  };
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}

/// Of bandwidths, rates and shares the larger is better, of times and sizes the smaller.
function largerIsBetter(unit: string): boolean {
  return unit.endsWith("/s") || unit === "%" || unit === "times";
}

/// Three digits that count.
export function figure(value: number): string {
  const size = Math.abs(value);
  return size >= 1000 ? value.toFixed(0) : size >= 100 || size === 0 ? value.toFixed(0) : value.toPrecision(3);
}
