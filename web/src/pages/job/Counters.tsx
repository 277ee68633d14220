// What each rank has counted: a table with a bar in each cell, and all of it as a file.

import type { Job, Rank } from "../../api/types";
import { Empty, save, Trouble } from "../../components/small";
import { csv } from "../../model/csv";
import { count } from "../../model/units";
import { useRanks } from "./ranks";

/// Ranks in the table at most; the file has all.
const MOST_COLUMNS = 32;

export function CountersTab({ job }: { job: Job }) {
  const { value, error, reload } = useRanks(job);
  const ranks = [...(value?.ranks ?? [])].sort((a, b) => a.rank - b.rank);
  const names = [...new Set(ranks.flatMap((rank) => Object.keys(rank.counters)))];
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
        {ranks.length > MOST_COLUMNS && (
          <span class="dim">
            The first {MOST_COLUMNS} of {ranks.length} ranks; the file has all.
          </span>
        )}
      </div>
      <div class="wide" tabIndex={0} role="region" aria-label="Counters">
        <table class="counters">
          <thead>
            <tr>
              <th scope="col">Counter</th>
              {ranks.slice(0, MOST_COLUMNS).map((rank) => (
                <th scope="col">rank {rank.rank}</th>
              ))}
              <th scope="col">All</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <Row key={name} name={name} ranks={ranks} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Row({ name, ranks }: { name: string; ranks: readonly Rank[] }) {
  const values = ranks.map((rank) => rank.counters[name]);
  const largest = Math.max(1, ...values.map((value) => value ?? 0));
  const sum = values.reduce<number>((all, value) => all + (value ?? 0), 0);
  return (
    <tr>
      <th scope="row">{name}</th>
      {values.slice(0, MOST_COLUMNS).map((value) => (
        <td class="number" title={value === undefined ? "not counted" : String(value)}>
          {value === undefined ? "–" : count(value)}
          <span class="under" aria-hidden="true" style={{ transform: `scaleX(${(value ?? 0) / largest})` }} />
        </td>
      ))}
      <td class="number" title={String(sum)}>
        {count(sum)}
      </td>
    </tr>
  );
}

/// One row per rank, exact numbers, empty where nothing was counted.
function file(names: readonly string[], ranks: readonly Rank[]): string {
  const rows = ranks.map((rank) => [rank.rank, rank.host, ...names.map((name) => rank.counters[name] ?? "")]);
  return csv([["rank", "host", ...names], ...rows]);
}
