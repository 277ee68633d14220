// What the kernel and the processor count for each rank, while somebody looks: a table with the coverage of what is
// counted in turns, a small chart for each rank, and all of it as a file.

import { useRef, useState } from "preact/hooks";
import { get } from "../../api/client";
import type { Counters, Job, RankCounters } from "../../api/types";
import { Panel, save, Trouble } from "../../components/small";
import { Sparkline } from "../../components/Sparkline";
import { csv } from "../../model/csv";
import { Rates, sum } from "../../model/rates";
import { count, percent } from "../../model/units";
import { useResource } from "../../state/resource";
import { Grid, MOST_COLUMNS, type Cell } from "./Grid";
import { useTurn } from "./ranks";

export function Events({ job }: { job: Job }) {
  const turn = useTurn(job);
  const key = job.state === "running" ? `/jobs/${job.id}/counters` : undefined;
  const { value, error, reload } = useResource(key, (signal) => get<Counters>(`/jobs/${job.id}/counters`, signal), turn);
  const rates = useRef(new Rates()).current;
  const [charted, setCharted] = useState(0);
  if (value) rates.push(value);
  if (error) return <Trouble error={error} retry={reload} />;
  if (!value) return null;
  const ranks = value.ranks.slice(0, MOST_COLUMNS);
  const file = () => save(`job-${job.id}-events.csv`, "text/csv", rows(value));
  return (
    <Panel title="Events of processors and kernel" aside={<button type="button" onClick={file}>Save events as CSV</button>}>
      {value.ranks.length === 0 && <p class="dim">No rank runs yet.</p>}
      {value.ranks.length > 0 && value.events.length > 0 && (
        <>
          <Grid label="Events" head="Event" ranks={ranks} rows={value.events.map((event, i) => row(event, i, value))} />
          <label class="check">
            Per second, by rank:{" "}
            <select value={String(charted)} onChange={(event) => setCharted(Number(event.currentTarget.value))}>
              {value.events.map((event, i) => (
                <option value={String(i)}>{event.name}</option>
              ))}
            </select>
          </label>
          <Charts counters={value} ranks={ranks} event={charted} rates={rates} />
          <p class="dim">Counted for {Math.round(value.elapsed_seconds)} s, since somebody looks.</p>
        </>
      )}
      {value.notes.map((note) => (
        <p class="dim">{note}</p>
      ))}
    </Panel>
  );
}

function row({ name, unit }: Counters["events"][number], i: number, counters: Counters) {
  const cells = counters.ranks.map((rank) => cell(unit, rank.values[i]?.value, rank.values[i]?.coverage ?? 0));
  const { value, coverage } = sum(counters, i);
  return { name, cells, all: cell(unit, value, coverage) };
}

/// A value, with its coverage when it was counted in turns.
function cell(unit: string, value: number | null | undefined, coverage: number): Cell {
  if (value == null) return { text: "not counted", title: "it never had its turn" };
  const part = percent(coverage);
  return { text: shown(unit, value) + (coverage < 1 ? ` ${part}` : ""), title: `${Math.round(value)}, counted ${part} of the time` };
}

function shown(unit: string, value: number): string {
  return unit === "ns" ? `${(value / 1e9).toFixed(2)} s` : count(value);
}

function Charts({ counters, ranks, event, rates }: { counters: Counters; ranks: readonly RankCounters[]; event: number; rates: Rates }) {
  const lines = ranks.map((rank) => rates.of(rank.pid, event));
  const largest = Math.max(...lines.flat(), Number.MIN_VALUE);
  const { name = "", unit = "count" } = counters.events[event] ?? {};
  return (
    <ul class="bar" aria-label={`${name} per second`}>
      {ranks.map((rank, i) => {
        const line = lines[i] ?? [];
        const last = line.at(-1);
        const text = last === undefined ? "–" : `${shown(unit, last)}/s`;
        return (
          <li>
            rank {rank.rank} <Sparkline values={line.map((value) => value / largest)} label={`rank ${rank.rank}: now ${text}`} /> {text}
          </li>
        );
      })}
    </ul>
  );
}

/// One row per rank and event, exact numbers, empty where nothing is known.
function rows(counters: Counters): string {
  const head = ["rank", "host", "pid", "event", "unit", "value", "coverage", "error"];
  const lines = counters.ranks.flatMap((rank) =>
    counters.events.map((event, i) => {
      const { value, coverage, error } = rank.values[i] ?? {};
      return [rank.rank, rank.host, rank.pid, event.name, event.unit, value ?? "", coverage ?? "", error ?? ""];
    }),
  );
  return csv([head, ...lines]);
}
