// All jobs: a filter line, which the address holds, and a table of any length.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Unreachable } from "../api/client";
import type { JobSummary } from "../api/types";
import { Sparkline } from "../components/Sparkline";
import { Command, Empty, HintNote, Progress, Trouble, When } from "../components/small";
import { StateOf } from "../components/State";
import { Grid } from "../components/VirtualList";
import { useKeys } from "../keys/keys";
import { matches, parseFilter, query } from "../model/filter";
import { nameOf, shownName } from "../model/name";
import { percent } from "../model/units";
import { recentUse, version as hostsVersion } from "../state/hosts";
import * as jobs from "../state/jobs";
import { address, go, jobPath, setParameter } from "../state/route";
import { session } from "../state/session";
import { Why } from "./Overview";

const HEADS = ["Job", "State", "Name", "User", "Ranks", "Hosts", "Time", "Submitted"] as const;

/// Typing pauses for so long before the server is asked; the page itself filters at once.
const ASK_AFTER_MS = 300;

export function Jobs() {
  const text = address.value.searchParams.get("filter") ?? "";
  const filter = useMemo(() => parseFilter(text), [text]);
  const me = session.value?.user ?? "";
  const changes = jobs.version.value;
  const rows = useMemo(
    () => [...jobs.allJobs()].filter((job) => matches(filter, job, me)).sort((a, b) => b.id - a.id),
    [changes, filter, me],
  );
  const error = useServerSearch(text);
  const [active, setActive] = useActive(rows);
  useKeys("Jobs", [
    { keys: "n", does: "submit a job", run: () => go("/submit") },
    { keys: "Enter", does: "open the active row (in the table, which arrows or j and k move)" },
  ]);
  return (
    <div class="fill">
      <h1 class="hidden">Jobs</h1>
      <HintNote name="jobs">
        Filters are words: state:running user:me name:poisson host:n3. A copied link shows the same list.
      </HintNote>
      <FilterLine text={text} problem={filter.problem} shown={rows.length} />
      <Trouble error={error} />
      {rows.length === 0 ? <None text={text} /> : <Table rows={rows} active={active} setActive={setActive} />}
    </div>
  );
}

/// The active row is a job, not a place: it stays the same when rows come and go.
function useActive(rows: readonly JobSummary[]): [number, (index: number) => void] {
  const [id, setId] = useState<number>();
  const last = useRef(0);
  const index = rows.findIndex((job) => job.id === id);
  // The active job has left the list: the row that took its place is active.
  const active = index < 0 ? Math.min(last.current, Math.max(0, rows.length - 1)) : index;
  last.current = active;
  return [active, (next) => ((last.current = next), setId(rows[next]?.id))];
}

/// Where the server has more jobs than this page, it is asked for those that match.
function useServerSearch(text: string): unknown {
  const [error, setError] = useState<unknown>();
  const more = jobs.more.value;
  useEffect(() => {
    setError(undefined);
    if (!more || !text) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      jobs.search(query(parseFilter(text), session.peek()?.user ?? ""), stop.signal).catch((refused: unknown) => {
        if (!stop.signal.aborted && !(refused instanceof Unreachable)) setError(refused);
      });
    }, ASK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, more]);
  return error;
}

const QUICK = ["state:active", "state:running", "state:failed", "user:me"];

function FilterLine({ text, problem, shown }: { text: string; problem: string | undefined; shown: number }) {
  const toggle = (word: string) => {
    const words = text.split(/\s+/).filter(Boolean);
    const next = words.includes(word) ? words.filter((each) => each !== word) : [...words, word];
    setParameter("filter", next.join(" "));
  };
  return (
    <div class="filter" role="search">
      <input
        type="search"
        aria-label="Filter jobs"
        aria-invalid={problem !== undefined}
        aria-describedby="filter-said"
        placeholder="state:running user:me name:x host:n3"
        value={text}
        spellcheck={false}
        onInput={(event) => setParameter("filter", event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <span class="quick">
        {QUICK.map((word) => (
          <button type="button" class="chip" aria-pressed={text.split(/\s+/).includes(word)} onClick={() => toggle(word)}>
            {word}
          </button>
        ))}
      </span>
      <output id="filter-said" class={problem ? "bad" : "dim"}>
        {problem ?? `${shown.toLocaleString("en")}${jobs.more.value ? "+" : ""} jobs`}
      </output>
    </div>
  );
}

interface TableProps {
  rows: readonly JobSummary[];
  active: number;
  setActive: (index: number) => void;
}

function Table({ rows, active, setActive }: TableProps) {
  const height = useRowHeight();
  return (
    <Grid
      label="Jobs"
      count={rows.length}
      height={height}
      columns={HEADS.length}
      active={active}
      setActive={setActive}
      open={(index) => rows[index] && go(jobPath(nameOf(rows[index])))}
      rowKey={(index) => rows[index]?.id ?? index}
      header={HEADS.map((head) => (
        <span role="columnheader">{head}</span>
      ))}
      row={(index) => rows[index] && <Cells job={rows[index]} />}
    />
  );
}

/// A row is one line, on a phone two.
function useRowHeight(): number {
  const wide = useMemo(() => matchMedia("(min-width: 720px)"), []);
  const [height, setHeight] = useState(wide.matches ? 32 : 56);
  useEffect(() => {
    const change = () => setHeight(wide.matches ? 32 : 56);
    wide.addEventListener("change", change);
    return () => wide.removeEventListener("change", change);
  }, [wide]);
  return height;
}

function Cells({ job }: { job: JobSummary }) {
  return (
    <>
      <span role="gridcell" class="number">
        <a href={jobPath(nameOf(job))} tabIndex={-1}>
          {shownName(job)}
        </a>
      </span>
      <span role="gridcell">
        <StateOf job={job} />
      </span>
      <span role="gridcell" class="name" title={job.name}>
        {job.name}
      </span>
      <span role="gridcell">{job.user}</span>
      <span role="gridcell" class="number">
        {job.ranks}
      </span>
      <span role="gridcell" class="hosts" title={job.hosts.join(", ")}>
        {job.hosts.join(", ")}
        {job.state === "running" && <Use hosts={job.hosts} />}
      </span>
      <span role="gridcell" class="time" title={job.started ? undefined : (job.reason ?? undefined)}>
        {job.started ? <Progress job={job} /> : <Why job={job} />}
      </span>
      <span role="gridcell" class="dim">
        <When at={job.submitted} />
      </span>
    </>
  );
}

function Use({ hosts }: { hosts: readonly string[] }) {
  hostsVersion.value;
  const values = recentUse(hosts);
  return <Sparkline values={values} label={`processors of its hosts ${percent(values.at(-1) ?? 0)} busy`} />;
}

function None({ text }: { text: string }) {
  if (text) {
    return (
      <Empty title="No job matches.">
        <button type="button" onClick={() => setParameter("filter", undefined)}>
          Show all jobs
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="No job was submitted yet. In a terminal:">
      <Command text="hpvm submit -n 4 ./program" />
    </Empty>
  );
}
