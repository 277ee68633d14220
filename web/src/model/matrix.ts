// The rank map as a picture: who sent how much to whom, in cells or, for many ranks, in tiles.

import type { Matrix } from "../api/types";

/// Above this many ranks a cell stands for several: a screen has not more points than that.
export const MOST_CELLS = 1024;

export interface Area {
  /// First rank shown, and how many, the same for both axes.
  first: number;
  size: number;
}

export interface Tiles {
  /// Cells along one side.
  side: number;
  /// Ranks along one side of a cell.
  ranks: number;
  /// Sum of each cell, rows (senders) first.
  sums: Float64Array;
  largest: number;
}

export function tiles(matrix: Matrix, area: Area, most = MOST_CELLS): Tiles {
  const ranks = Math.max(1, Math.ceil(area.size / most));
  const side = Math.ceil(area.size / ranks);
  const sums = new Float64Array(side * side);
  let largest = 0;
  for (const [from = 0, to = 0, value = 0] of matrix.entries) {
    const row = Math.floor((from - area.first) / ranks);
    const column = Math.floor((to - area.first) / ranks);
    if (row < 0 || column < 0 || row >= side || column >= side) continue;
    const at = row * side + column;
    sums[at] = (sums[at] ?? 0) + value;
    largest = Math.max(largest, sums[at] ?? 0);
  }
  return { side, ranks, sums, largest };
}

/// From 0 (nothing) to 1 (the largest), by orders of magnitude: traffic spans many.
export function shade(value: number, largest: number): number {
  if (value <= 0 || largest <= 0) return 0;
  return 0.12 + (0.88 * Math.log1p(value)) / Math.log1p(largest);
}

/// An area around `centre` that is `factor` times as wide, inside of the whole.
export function zoom(area: Area, centre: number, factor: number, whole: number): Area {
  const size = Math.min(whole, Math.max(Math.min(4, whole), Math.round(area.size * factor)));
  const first = Math.round(centre - (centre - area.first) * (size / area.size));
  return { first: Math.min(Math.max(0, first), whole - size), size };
}

/// The pairs that exchanged most, for the table.
export function largestPairs(matrix: Matrix, most: number): [number, number, number][] {
  const pairs = matrix.entries.map(([from = 0, to = 0, value = 0]) => [from, to, value] as [number, number, number]);
  return pairs.sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]).slice(0, most);
}
