// What ranks did in the last minute: how often they waited when they were looked at, and what they sent per second.

import type { Rank } from "../api/types";

/// Looks that are remembered; they come once a second.
const MOST = 60;

interface Look {
  /// Milliseconds on any clock that only grows.
  at: number;
  waits: boolean;
  sent: number | undefined;
}

export interface Minute {
  /// Part of the looks at which it waited, 0 to 1.
  waited: number;
  /// Packets per second; undefined before there are two looks that know of them.
  sent: number | undefined;
}

/// By process, so that a rank of another launch begins anew.
export class Minutes {
  private last: readonly Rank[] | undefined;
  private looks = new Map<string, Look[]>();

  /// The next answer. What is not in it is forgotten.
  push(ranks: readonly Rank[], at: number): void {
    if (this.last === ranks) return;
    this.last = ranks;
    const next = new Map<string, Look[]>();
    for (const rank of ranks) {
      const key = keyOf(rank);
      const look = { at, waits: rank.state === "sleeping", sent: rank.counters["packets_sent"] };
      next.set(key, [...(this.looks.get(key) ?? []), look].slice(-MOST));
    }
    this.looks = next;
  }

  of(rank: Rank): Minute | undefined {
    const looks = this.looks.get(keyOf(rank)) ?? [];
    const [first, last] = [looks[0], looks.at(-1)];
    if (!first || !last) return undefined;
    const waited = looks.filter((look) => look.waits).length / looks.length;
    const known = last.at > first.at && first.sent !== undefined && last.sent !== undefined;
    const sent = known ? (Math.max(0, (last.sent ?? 0) - (first.sent ?? 0)) * 1000) / (last.at - first.at) : undefined;
    return { waited, sent };
  }
}

function keyOf(rank: Rank): string {
  return `${rank.rank} ${rank.host} ${rank.pid}`;
}
