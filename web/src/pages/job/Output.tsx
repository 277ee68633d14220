// A job's output: its end, followed; search, one rank alone, all of it as a file.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { downloadPath, type StreamName } from "../../api/output";
import { sentence } from "../../api/client";
import type { Job } from "../../api/types";
import { HintNote, Trouble } from "../../components/small";
import { useView } from "../../components/VirtualList";
import { useKeys } from "../../keys/keys";
import { overwritten, plain, spans } from "../../model/ansi";
import { LINE_SHOWN, rankOf, type Line } from "../../model/lines";
import { bytes } from "../../model/units";
import { Output } from "../../state/output";
import { address, askedRank, setParameter } from "../../state/route";

/// Height of a line, as in the style sheet.
const LINE = 18;

export function OutputTab({ job }: { job: Job }) {
  // Of a job that has ended without a result, what it says of the reason.
  const { stdout, stderr } = job.output;
  const first = job.state === "ended" && stderr > 0 && stdout === 0 ? "stderr" : "stdout";
  const stream: StreamName = (address.value.searchParams.get("stream") ?? first) === "stderr" ? "stderr" : "stdout";
  return <Pane key={stream} job={job} stream={stream} />;
}

function Pane({ job, stream }: { job: Job; stream: StreamName }) {
  const box = useRef<HTMLDivElement>(null);
  const output = useOutput(job.id, stream, box);
  const rank = askedRank();
  const setRank = (next: number | undefined) => setParameter("rank", next === undefined ? undefined : String(next));
  const [wanted, setWanted] = useState("");
  const version = output.version.value;
  const { shown, ranks } = useMemo(() => sift(output.window.all(), rank), [version, rank, output]);
  const search = useSearch(output, shown, wanted, box);
  useFollow(output, box, shown.length);
  useKeys("Output", [
    { keys: "f", does: "follow or pause", run: () => toggle(output) },
    { keys: "s", does: "search in the output", run: () => document.getElementById("output-search")?.focus() },
    { keys: "N", does: "previous hit", run: () => search.step(true) },
    { keys: "n", does: "next hit", run: () => search.step(false) },
    { keys: "g g", does: "to the beginning", run: () => void output.toStart().then(() => box.current?.scrollTo(0, 0)) },
    { keys: "G", does: "to the end, and follow", run: () => void output.follow() },
  ]);
  return (
    <div class="fill">
      <HintNote name="job">
        New lines appear by themselves. Scroll up and they wait; f or “Follow” goes on at the end.
      </HintNote>
      <div class="bar">
        <Streams job={job} stream={stream} />
        <button type="button" aria-pressed={output.following.value} disabled={output.ended.value} onClick={() => toggle(output)}>
          {output.ended.value ? "Complete" : output.following.value ? "Following" : "Follow"}
        </button>
        <input
          id="output-search"
          type="search"
          aria-label="Search in the output"
          placeholder="search"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && search.step(event.shiftKey)}
        />
        {search.stop && <button type="button" onClick={search.stop}>Stop</button>}
        <output class="dim" aria-live="polite">{search.said}</output>
        <RankChoice ranks={ranks} rank={rank} setRank={setRank} total={job.ranks} />
        <a class="button" href={downloadPath(job.id, stream)} download>
          Download {bytes(output.size.value)}
        </a>
      </div>
      <Trouble error={output.error.value} retry={() => void output.start()} />
      <Lines box={box} lines={shown} hit={search.hit} wanted={wanted} label={stream} output={output} />
    </div>
  );
}

function toggle(output: Output): void {
  if (output.following.value) output.pause();
  else void output.follow();
}

function useOutput(job: number, stream: StreamName, box: { current: HTMLElement | null }): Output {
  const output = useMemo(
    () => new Output(job, stream, (lines) => box.current && (box.current.scrollTop -= lines * LINE)),
    [job, stream],
  );
  useEffect(() => {
    void output.start();
    // A tab in the background gives its connection back: a browser has six to a server.
    let paused = false;
    const visibility = () => {
      if (document.hidden && output.following.value) {
        paused = true;
        output.pause();
      } else if (!document.hidden && paused) {
        paused = false;
        void output.follow();
      }
    };
    document.addEventListener("visibilitychange", visibility);
    return () => {
      document.removeEventListener("visibilitychange", visibility);
      output.close();
    };
  }, [output]);
  return output;
}

/// The lines of one rank, or all; and which ranks have lines.
function sift(lines: Line[], rank: number | undefined): { shown: Line[]; ranks: number[] } {
  const found = new Set<number>();
  const shown = lines.filter((line) => {
    const of = rankOf(line.text);
    if (of !== undefined) found.add(of);
    return rank === undefined || of === rank;
  });
  return { shown, ranks: [...found].sort((a, b) => a - b) };
}

/// The end stays in view until someone scrolls up.
function useFollow(output: Output, box: { current: HTMLElement | null }, count: number): void {
  const atEnd = output.atEnd.value;
  const top = useRef(0);
  useLayoutEffect(() => {
    if (atEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [atEnd, count, output.version.value]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const scrolled = () => {
      const up = element.scrollTop < top.current - 1;
      top.current = element.scrollTop;
      const below = element.scrollHeight - element.clientHeight - element.scrollTop;
      if (up && below > LINE && output.atEnd.peek()) output.pause();
      if (element.scrollTop < 20 * LINE) void output.earlier();
      if (below < 20 * LINE) void output.later();
    };
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => element.removeEventListener("scroll", scrolled);
  }, [output]);
}

/// A look through the file, for `text`.
interface Scan {
  text: string;
  stop: AbortController;
}

interface Search {
  /// Offset of the line that was found last.
  hit: number | undefined;
  said: string;
  step: (backward: boolean) => void;
  stop: (() => void) | undefined;
}

/// Hits in the window; beyond it the server's file is looked through, with an end in sight.
function useSearch(output: Output, lines: Line[], wanted: string, box: { current: HTMLElement | null }): Search {
  const [said, setSaid] = useState("");
  const [scan, setScan] = useState<Scan>();
  const [hit, to] = useHit(output, lines, box);
  const text = wanted.toLowerCase();
  const all = useMemo(() => hits(lines, text), [lines, text]);
  useEffect(() => to(undefined), [text, output]);
  useEffect(() => setSaid(text ? `${all.length} hits here` : ""), [all.length, text]);
  const beyond = async (backward: boolean) => {
    const stop = new AbortController();
    setScan({ text, stop });
    try {
      const found = await output.find(wanted, backward, (at) => setSaid(`searched to ${bytes(at)}`), stop.signal);
      const list = hits(output.window.all(), text);
      if (found) to(backward ? list.at(-1) : list[0]);
      setSaid(found ? `${list.length} hits here` : `none ${backward ? "before" : "behind"} this`);
    } catch (error) {
      setSaid(stop.signal.aborted ? "stopped" : sentence(error));
    } finally {
      setScan((now) => (now?.stop === stop ? undefined : now));
    }
  };
  const step = (backward: boolean) => {
    if (!text || scan?.text === text) return;
    // It looks for what nobody wants any more.
    scan?.stop.abort();
    const from = hit ?? (backward ? Infinity : -1);
    const next = backward ? all.findLast((offset) => offset < from) : all.find((offset) => offset > from);
    if (next !== undefined) to(next);
    else void beyond(backward);
  };
  return { hit, said, step, stop: scan ? () => scan.stop.abort() : undefined };
}

/// Offsets of the lines that hold a text.
function hits(lines: Line[], text: string): number[] {
  if (!text) return [];
  return lines.flatMap((line) => (plain(line.text).toLowerCase().includes(text) ? [line.offset] : []));
}

/// The line that is shown, by its offset: lines come and go before it. It is brought into view once,
/// when it is among those that are drawn.
function useHit(
  output: Output,
  lines: Line[],
  box: { current: HTMLElement | null },
): [number | undefined, (offset: number | undefined) => void] {
  const [hit, setHit] = useState<number>();
  const awaited = useRef<number>(undefined);
  useLayoutEffect(() => {
    if (awaited.current === undefined || !box.current) return;
    const index = lines.findIndex((line) => line.offset === awaited.current);
    if (index < 0) return;
    awaited.current = undefined;
    box.current.scrollTop = Math.max(0, index * LINE - box.current.clientHeight / 2);
  });
  const to = (offset: number | undefined) => {
    if (offset !== undefined) output.pause();
    awaited.current = offset;
    setHit(offset);
  };
  return [hit, to];
}

function Streams({ job, stream }: { job: Job; stream: StreamName }) {
  return (
    <span role="group" aria-label="Stream" class="group">
      {(["stdout", "stderr"] as const).map((name) => (
        <button
          type="button"
          class="chip"
          aria-pressed={name === stream}
          onClick={() => setParameter("stream", name)}
        >
          {name} {job.output[name] > 0 && <span class="dim">{bytes(job.output[name])}</span>}
        </button>
      ))}
    </span>
  );
}

interface RankChoiceProps {
  ranks: number[];
  rank: number | undefined;
  setRank: (rank: number | undefined) => void;
  total: number;
}

/// Lines say their rank where the job was started so.
function RankChoice({ ranks, rank, setRank, total }: RankChoiceProps) {
  if (total < 2) return null;
  const none = ranks.length === 0 && rank === undefined;
  return (
    <label class="inline" title={none ? "Lines do not say their rank; mpirun -l puts it in front." : undefined}>
      Rank{" "}
      <select
        aria-label="Rank"
        disabled={none}
        value={rank ?? ""}
        onChange={(event) => setRank(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))}
      >
        <option value="">{none ? "not labelled" : "all"}</option>
        {[...new Set([...ranks, ...(rank === undefined ? [] : [rank])])].map((each) => (
          <option value={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

interface LinesProps {
  box: { current: HTMLDivElement | null };
  lines: Line[];
  hit: number | undefined;
  wanted: string;
  label: string;
  output: Output;
}

function Lines({ box, lines, hit, wanted, label, output }: LinesProps) {
  const view = useView(box, lines.length, LINE);
  const text = wanted.toLowerCase();
  return (
    <div class="output" ref={box} tabIndex={0} role="region" aria-label={`Output, ${label}, ${lines.length} lines here`}>
      {lines.length === 0 && <p class="dim">{output.ended.value ? "Nothing was written." : "Nothing was written yet."}</p>}
      <div class="tall" style={{ height: `${lines.length * LINE}px` }}>
        {lines.slice(view.first, view.last).map((line, i) => {
          const index = view.first + i;
          const found = text !== "" && plain(line.text).toLowerCase().includes(text);
          const classes = `line${found ? " hit" : ""}${line.offset === hit ? " now" : ""}`;
          return (
            <div key={line.offset} class={classes} style={{ transform: `translateY(${index * LINE}px)` }}>
              <Text line={line.text} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Text({ line }: { line: string }) {
  const last = overwritten(line);
  const shown = last.slice(0, LINE_SHOWN);
  return (
    <>
      {spans(shown).map((span) =>
        span.classes || span.color || span.background ? (
          <span class={span.classes} style={{ color: span.color, background: span.background }}>
            {span.text}
          </span>
        ) : (
          span.text
        ),
      )}
      {last.length > shown.length && <span class="dim"> … {last.length - shown.length} more characters</span>}
    </>
  );
}
