// What each rank does, for whom it waits, and who sent how much to whom.

import { useMemo } from "preact/hooks";
import type { Job, Rank } from "../../api/types";
import { Empty, Panel, Trouble } from "../../components/small";
import { bytes, count, span } from "../../model/units";
import { hostPath } from "../../state/route";
import { MapPanel } from "./MapPanel";
import { Notes } from "./Notes";
import { useRanks } from "./ranks";

export function RanksTab({ job }: { job: Job }) {
  const { value, error, reload } = useRanks(job);
  if (!job.started) return <Empty title="Ranks show here when the job runs." />;
  const ranks = value?.ranks ?? [];
  return (
    <>
      <Trouble error={error} retry={reload} />
      {value?.findings?.map((finding) => (
        <p class="finding" role="status">
          {finding}
        </p>
      ))}
      <Notes notes={value?.notes} />
      <div class="split">
        <MapPanel job={job} />
        <Panel title="Ranks" aside={<span class="dim">{summary(ranks)}</span>}>
          {ranks.length > 0 ? <Table ranks={ranks} /> : <None job={job} loaded={value !== undefined} />}
        </Panel>
      </div>
    </>
  );
}

function None({ job, loaded }: { job: Job; loaded: boolean }) {
  if (!loaded) return null;
  if (job.state === "ended") return <p class="dim">The job has ended, and its ranks with it.</p>;
  return <p class="dim">No rank is in MPI yet. A program without MPI has none.</p>;
}

const WORDS: Record<Rank["state"], string> = {
  computing: "computing",
  mpi: "in MPI",
  sleeping: "waiting",
  starting: "starting",
  finished: "finished",
};

function summary(ranks: readonly Rank[]): string {
  const counts = new Map<string, number>();
  for (const rank of ranks) counts.set(WORDS[rank.state], (counts.get(WORDS[rank.state]) ?? 0) + 1);
  return [...counts].map(([word, n]) => `${n} ${word}`).join(", ");
}

/// Ranks in the table at most; the map and the file of counters have all.
const MOST_ROWS = 256;

const HEADS = ["Rank", "Host", "Process", "Does", "Waits for", "Since", "Packets", "Sent"];
const NUMBERS = ["Rank", "Process", "Since", "Packets", "Sent"];

function Table({ ranks }: { ranks: readonly Rank[] }) {
  const rows = useMemo(() => order(ranks), [ranks]);
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Table of ranks">
      <table>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th scope="col" class={NUMBERS.includes(head) ? "number" : ""}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((rank) => (
            <tr key={rank.rank}>
              <th scope="row" class="number">
                {rank.rank}
              </th>
              <td>
                <a href={hostPath(rank.host)}>{rank.host}</a>
              </td>
              <td class="number">{rank.pid}</td>
              <td>
                <span class={`rank ${rank.state}`}>{WORDS[rank.state]}</span>
              </td>
              <td title={rank.operations?.join("; ")}>{waits(rank)}</td>
              <td class="number">{rank.since_seconds == null ? "" : span(rank.since_seconds)}</td>
              <td class="number">{counted(rank, "packets_sent", count)}</td>
              <td class="number">{counted(rank, "bytes_sent", bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && <p class="dim">and {rows.length - MOST_ROWS} more, those that wait first</p>}
    </div>
  );
}

/// Many ranks: those that wait longest first, for they are what one looks for.
function order(ranks: readonly Rank[]): Rank[] {
  if (ranks.length <= MOST_ROWS) return [...ranks].sort((a, b) => a.rank - b.rank);
  return [...ranks].sort((a, b) => (b.since_seconds ?? -1) - (a.since_seconds ?? -1) || a.rank - b.rank);
}

function waits(rank: Rank): string {
  const list = rank.waits_for ?? [];
  if (list.length === 0) return rank.operations?.[0] ?? "";
  return list.length > 4 ? `${list.slice(0, 4).join(", ")} and ${list.length - 4} more` : list.join(", ");
}

function counted(rank: Rank, name: string, format: (value: number) => string): string {
  const value = rank.counters[name];
  return value === undefined ? "" : format(value);
}
