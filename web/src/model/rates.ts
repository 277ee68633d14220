// What grows, as rates between answers: small charts of the last minute.

import type { Counters } from "../api/types";

/// Answers that are remembered; they come once a second.
const MOST = 60;

/// Per rank and event, how much was counted per second between two answers.
export class Rates {
  private last: Counters | undefined;
  private readonly lines = new Map<string, number[]>();

  /// The next answer. One that is not later, as of a job that is counted anew, begins again.
  push(now: Counters): void {
    const before = this.last;
    if (before === now) return;
    const seconds = now.elapsed_seconds - (before?.elapsed_seconds ?? 0);
    if (before && seconds <= 0) this.lines.clear();
    else if (before) this.compare(before, now, seconds);
    this.last = now;
  }

  private compare(before: Counters, now: Counters, seconds: number): void {
    const former = new Map(before.ranks.map((rank) => [rank.pid, rank.values]));
    for (const rank of now.ranks) {
      rank.values.forEach(({ value }, i) => {
        const last = former.get(rank.pid)?.[i]?.value;
        if (value == null || last == null) return;
        const key = `${rank.pid} ${i}`;
        const line = [...(this.lines.get(key) ?? []), Math.max(0, value - last) / seconds];
        this.lines.set(key, line.slice(-MOST));
      });
    }
  }

  of(pid: number, event: number): readonly number[] {
    return this.lines.get(`${pid} ${event}`) ?? [];
  }
}

/// The sum over ranks with its coverage; without a value if one rank has none.
export function sum(counters: Counters, event: number): { value: number | undefined; coverage: number } {
  const values = counters.ranks.flatMap((rank) => rank.values[event] ?? []);
  const known = values.length > 0 && values.every(({ value }) => value != null);
  const coverage = values.length > 0 ? Math.min(...values.map((each) => each.coverage)) : 0;
  return { value: known ? values.reduce((all, { value }) => all + (value ?? 0), 0) : undefined, coverage };
}
