// What each rank has counted: a table with a bar in each cell, and all of it as a file.

import { useState } from "preact/hooks";
import type { Job, Rank } from "../../api/types";
import { Empty, save, Trouble } from "../../components/small";
import { csv } from "../../model/csv";
import { count } from "../../model/units";
import { Events } from "./Events";
import { Grid, MOST_COLUMNS, type Cell } from "./Grid";
import { useRanks } from "./ranks";

export function CountersTab({ job }: { job: Job }) {
  return (
    <>
      <Events job={job} />
      <OfMpi job={job} />
    </>
  );
}

function OfMpi({ job }: { job: Job }) {
  const { value, error, reload } = useRanks(job);
  const ranks = [...(value?.ranks ?? [])].sort((a, b) => a.rank - b.rank);
  const [zeros, setZeros] = useState(false);
  const names = [...new Set(ranks.flatMap((rank) => Object.keys(rank.counters)))];
  const shown = zeros ? names : names.filter((name) => ranks.some((rank) => rank.counters[name]));
  if (names.length === 0) {
    if (error) return <Trouble error={error} retry={reload} />;
    const why = job.state === "running" ? "No rank has counted anything yet." : "Counters show here while the job runs.";
    return <Empty title={why} />;
  }
  return (
    <>
      <div class="bar">
        <button type="button" onClick={() => save(`job-${job.id}-counters.csv`, "text/csv", file(names, ranks))}>
          Save as CSV
        </button>
        <label class="check">
          <input type="checkbox" checked={zeros} onChange={(event) => setZeros(event.currentTarget.checked)} />
          Also those at zero
        </label>
        {ranks.length > MOST_COLUMNS && (
          <span class="dim">
            The first {MOST_COLUMNS} of {ranks.length} ranks; the file has all.
          </span>
        )}
      </div>
      <Grid label="Counters" head="Counter" ranks={ranks} rows={shown.map((name) => row(name, ranks))} />
    </>
  );
}

function row(name: string, ranks: readonly Rank[]) {
  const values = ranks.map((rank) => rank.counters[name]);
  const largest = Math.max(1, ...values.map((value) => value ?? 0));
  const cell = (value: number | undefined): Cell =>
    value === undefined ? { text: "–", title: "not counted" } : { text: count(value), title: String(value) };
  const sum = values.reduce<number>((all, value) => all + (value ?? 0), 0);
  return { name, cells: values.map((value) => ({ ...cell(value), share: (value ?? 0) / largest })), all: cell(sum) };
}

/// One row per rank, exact numbers, empty where nothing was counted.
function file(names: readonly string[], ranks: readonly Rank[]): string {
  const rows = ranks.map((rank) => [rank.rank, rank.host, ...names.map((name) => rank.counters[name] ?? "")]);
  return csv([["rank", "host", ...names], ...rows]);
}
