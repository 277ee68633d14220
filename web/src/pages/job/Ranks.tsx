// What each rank does, for whom it waits, and who sent how much to whom.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Job, Rank } from "../../api/types";
import { Empty, Panel, Trouble } from "../../components/small";
import { Minutes, type Minute } from "../../model/minute";
import { bytes, count, percent, span } from "../../model/units";
import { askedRank, hostPath, withParameter } from "../../state/route";
import { MapPanel } from "./MapPanel";
import { Notes } from "./Notes";
import { useRanks } from "./ranks";

export function RanksTab({ job }: { job: Job }) {
  const { value, error, reload } = useRanks(job);
  if (!job.started) return <Empty title="Ranks show here when the job runs." />;
  if (job.state === "ended" && !value) return <Empty title="The job has ended, and its ranks with it." />;
  const ranks = value?.ranks ?? [];
  const minutes = useRef(new Minutes()).current;
  if (value) minutes.push(value.ranks, performance.now());
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
        {ranks.length > 0 && <MapPanel job={job} />}
        <Panel title={job.state === "ended" ? "Ranks, as they were last" : "Ranks"} aside={<span class="dim">{summary(ranks)}</span>}>
          {ranks.length > 0 ? <Table ranks={ranks} minutes={minutes} /> : <None loaded={value !== undefined} />}
        </Panel>
      </div>
    </>
  );
}

function None({ loaded }: { loaded: boolean }) {
  if (!loaded) return null;
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

const HEADS = ["Rank", "Host", "PID", "Does", "Waits for", "Since", "Waited", "Core", "Memory", "Packets/s", "Sent"];
const WORDY = ["Host", "Does", "Waits for"];

/// What a word alone leaves open.
const EXPLAINED: Record<string, string> = {
  Waited: "Part of the looks of the last minute, one a second, at which it waited in MPI; else it computed or polled",
  Core: "The processor that it ran on last",
  Memory: "What of it is in memory, what it shares with other ranks included",
  "Packets/s": "In the last minute",
  Sent: "Since it began, in packets",
};

function Table({ ranks, minutes }: { ranks: readonly Rank[]; minutes: Minutes }) {
  const asked = askedRank();
  const rows = useMemo(() => order(ranks, asked), [ranks, asked]);
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Table of ranks">
      <table>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th scope="col" class={WORDY.includes(head) ? "" : "number"} title={EXPLAINED[head]}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((rank) => (
            <Row key={rank.rank} rank={rank} minute={minutes.of(rank)} asked={rank.rank === asked} />
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && <p class="dim">and {rows.length - MOST_ROWS} more, those that wait first</p>}
    </div>
  );
}

function Row({ rank, minute, asked }: { rank: Rank; minute: Minute | undefined; asked: boolean }) {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (asked) row.current?.scrollIntoView({ block: "nearest" });
  }, [asked]);
  return (
    <tr ref={row} class={asked ? "asked" : ""} aria-current={asked ? "true" : undefined}>
      <th scope="row" class="number">
        <a href={withParameter("rank", String(rank.rank))}>{rank.rank}</a>
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
      <td class="number">{minute && percent(minute.waited)}</td>
      <td class="number">{rank.processor}</td>
      <td class="number">{rank.memory == null ? "" : bytes(rank.memory)}</td>
      <td class="number" title={counted(rank, "packets_sent", (all) => `${count(all)} in all`)}>
        {minute?.sent === undefined ? "" : count(minute.sent)}
      </td>
      <td class="number">{counted(rank, "bytes_sent", bytes)}</td>
    </tr>
  );
}

/// Many ranks: the one that the address names, then those that wait longest, for they are what one looks for.
function order(ranks: readonly Rank[], asked: number | undefined): Rank[] {
  if (ranks.length <= MOST_ROWS) return [...ranks].sort((a, b) => a.rank - b.rank);
  const weight = (rank: Rank) => (rank.rank === asked ? Infinity : (rank.since_seconds ?? -1));
  return [...ranks].sort((a, b) => (weight(a) === weight(b) ? a.rank - b.rank : weight(b) - weight(a)));
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
