// The rank map: a square of ranks by ranks, sender down, receiver across, stronger in colour where more went.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { get, Refused } from "../../api/client";
import type { Job, Matrix } from "../../api/types";
import { Canvas, type Area as Paper } from "../../components/Canvas";
import { Panel, Trouble } from "../../components/small";
import { useKeys } from "../../keys/keys";
import { largestPairs, shade, tiles, zoom, type Area, type Tiles } from "../../model/matrix";
import { bytes, count } from "../../model/units";
import { useResource } from "../../state/resource";
import { address, setParameter } from "../../state/route";
import { token } from "../../state/theme";
import { Notes } from "./Notes";
import { useTurn } from "./ranks";

const UNITS = ["bytes", "messages"] as const;
type Unit = (typeof UNITS)[number];

/// Pairs in the table for who does not see the picture.
const PAIRS = 100;

export function MapPanel({ job }: { job: Job }) {
  const unit: Unit = address.value.searchParams.get("unit") === "messages" ? "messages" : "bytes";
  const turn = useTurn(job);
  const path = `/jobs/${job.id}/matrix?unit=${unit}`;
  // A job that does not count who talks to whom will not begin to: it is asked once.
  const refused = useRef(false);
  const when = refused.current ? job.state : `${turn} ${job.state}`;
  const { value, error } = useResource(path, (signal) => get<Matrix>(path, signal), when, job.state === "running");
  refused.current = error instanceof Refused;
  // Not counted, or not any more: the server says why.
  if (error instanceof Refused) {
    return (
      <Panel title="Rank map">
        <p class="dim">{error.message}</p>
      </Panel>
    );
  }
  return (
    <Panel title="Rank map" aside={<Units unit={unit} />}>
      <Trouble error={error} />
      <Notes notes={value?.notes} />
      {value && value.size > 0 ? <Picture matrix={value} unit={unit} /> : value && <p class="dim">Nothing was sent yet.</p>}
    </Panel>
  );
}

function Units({ unit }: { unit: Unit }) {
  return (
    <span role="group" aria-label="Unit">
      {UNITS.map((each) => (
        <button type="button" class="chip" aria-pressed={each === unit} onClick={() => setParameter("unit", each)}>
          {each}
        </button>
      ))}
    </span>
  );
}

function Picture({ matrix, unit }: { matrix: Matrix; unit: Unit }) {
  const whole = matrix.size;
  const [area, setArea] = useState<Area>({ first: 0, size: whole });
  const [over, setOver] = useState("");
  const made = useMemo(() => tiles(matrix, area), [matrix, area]);
  const draw = useCallback((paper: Paper) => picture(paper, made), [made]);
  const centre = area.first + area.size / 2;
  const format = unit === "bytes" ? bytes : count;
  const by = (factor: number, around = centre) => setArea(zoom(area, around, factor, whole));
  useKeys("Rank map", [
    { keys: "+", does: "zoom in", run: () => by(0.5) },
    { keys: "-", does: "zoom out", run: () => by(2) },
    { keys: "0", does: "the whole map", run: () => setArea({ first: 0, size: whole }) },
    { keys: "<", does: "towards rank 0", run: () => setArea(zoom({ ...area, first: area.first - area.size / 4 }, centre, 1, whole)) },
    { keys: ">", does: "towards the last rank", run: () => setArea(zoom({ ...area, first: area.first + area.size / 4 }, centre, 1, whole)) },
  ]);
  const place = (event: MouseEvent): [number, number] => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const cell = (at: number, size: number) => Math.min(made.side - 1, Math.max(0, Math.floor((at / size) * made.side)));
    return [cell(event.clientY - box.top, box.height), cell(event.clientX - box.left, box.width)];
  };
  const rankAt = (cell: number) => area.first + cell * made.ranks;
  return (
    <>
      <Canvas
        class="map"
        label={`Rank map of ${whole} ranks, ${matrix.entries.length} pairs talked. The table below lists the largest.`}
        draw={draw}
        onPointerMove={(event) => {
          const [row, column] = place(event);
          setOver(`${rank(rankAt(row), made)} to ${rank(rankAt(column), made)}: ${format(made.sums[row * made.side + column] ?? 0)}`);
        }}
        onClick={(event) => by(0.5, rankAt(place(event)[0]))}
      />
      <p class="legend dim">
        {over || `Rows send, columns receive, ranks ${area.first} to ${area.first + area.size - 1}; the strongest colour is ${format(made.largest)}.`}
      </p>
      <div class="bar">
        <button type="button" onClick={() => by(0.5)}>Zoom in</button>
        <button type="button" onClick={() => by(2)} disabled={area.size === whole}>Zoom out</button>
      </div>
      <Pairs matrix={matrix} format={format} />
    </>
  );
}

function rank(first: number, { ranks }: Tiles): string {
  return ranks === 1 ? `rank ${first}` : `ranks ${first}–${first + ranks - 1}`;
}

function picture({ context, width, height }: Paper, made: Tiles): void {
  context.fillStyle = token("trough");
  context.fillRect(0, 0, width, height);
  context.fillStyle = token("bar");
  const [w, h] = [width / made.side, height / made.side];
  // Lines between cells, where there is room for them.
  const gap = w > 6 ? 1 : 0;
  made.sums.forEach((sum, i) => {
    const dark = shade(sum, made.largest);
    if (dark === 0) return;
    context.globalAlpha = dark;
    context.fillRect((i % made.side) * w, Math.floor(i / made.side) * h, w - gap, h - gap);
  });
  context.globalAlpha = 1;
}

function Pairs({ matrix, format }: { matrix: Matrix; format: (value: number) => string }) {
  const rows = useMemo(() => largestPairs(matrix, PAIRS), [matrix]);
  return (
    <details>
      <summary>As a table: the {rows.length} largest of {matrix.entries.length} pairs</summary>
      <table aria-label="Pairs of ranks">
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Sent</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([from, to, value]) => (
            <tr key={`${from} ${to}`}>
              <td class="number">{from}</td>
              <td class="number">{to}</td>
              <td class="number" title={String(value)}>{format(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
