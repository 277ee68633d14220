// The history of a host as columns for a chart.

import type { Series } from "../api/types";

export interface Columns {
  /// Seconds since 1970.
  time: number[];
  cpu: (number | null)[];
  memory: (number | null)[];
  received: (number | null)[];
  sent: (number | null)[];
  read: (number | null)[];
  written: (number | null)[];
}

export function columns(series: Series): Columns {
  const { start_ms, step_ms, cpu, memory, received, sent, read, written } = series;
  const time = cpu.map((_, i) => (start_ms + i * step_ms) / 1000);
  return { time, cpu, memory, received, sent, read, written };
}

/// The mean of the processors of several hosts, on the times of the first.
export function meanUse(all: readonly Columns[]): { time: number[]; cpu: (number | null)[] } {
  const [first] = all;
  if (!first) return { time: [], cpu: [] };
  const sums = new Map<number, { sum: number; count: number }>();
  for (const each of all) {
    each.time.forEach((time, i) => {
      const value = each.cpu[i];
      if (value == null) return;
      const slot = Math.floor(time);
      const sum = sums.get(slot) ?? { sum: 0, count: 0 };
      sums.set(slot, { sum: sum.sum + value, count: sum.count + 1 });
    });
  }
  const cpu = first.time.map((time) => {
    const sum = sums.get(Math.floor(time));
    return sum ? sum.sum / sum.count : null;
  });
  return { time: first.time, cpu };
}
