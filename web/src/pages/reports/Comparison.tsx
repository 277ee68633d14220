// Two reports beside each other: what has become better, what worse, by their data.

import { request } from "../../api/client";
import { Empty, Panel, Trouble } from "../../components/small";
import { JOB_NAME } from "../../model/name";
import { compare, dataIn, figure, type Difference, type ReportData } from "../../model/report";
import { useResource } from "../../state/resource";
import { address, setParameter } from "../../state/route";
import { linkTo } from "./Report";

export function Comparison() {
  const asked = address.value.searchParams;
  const name = (which: string) => JOB_NAME.exec(asked.get(which) ?? "")?.[0];
  const [before, after] = [name("before"), name("now")];
  const older = useData(before);
  const newer = useData(after);
  if (!before || !after) {
    return (
      <Empty title="Choose two reports to compare.">
        <a href="/reports">To the reports</a>
      </Empty>
    );
  }
  const all = older.value && newer.value ? compare(older.value, newer.value) : undefined;
  const changed = all?.filter((each) => each.verdict !== "same");
  const shown = asked.get("all") ? all : changed;
  return (
    <>
      <div class="bar">
        <h1>
          Report {before} to {after}
        </h1>
        <a href="/reports">All reports</a>
      </div>
      <Trouble error={older.error ?? newer.error} />
      {older.value && newer.value && changed && all && (
        <Panel
          title={`${changed.length} of ${all.length} values changed`}
          aside={
            <label class="check">
              <input type="checkbox" checked={shown === all} onChange={(event) => setParameter("all", event.currentTarget.checked ? "1" : undefined)} />
              Show all
            </label>
          }
        >
          <p>
            {linkTo(before)} <span class="dim">({about(older.value)})</span> and {linkTo(after)} <span class="dim">({about(newer.value)})</span>.
          </p>
          <p class="dim">
            Medians. A value has changed when they differ by more than 5 % and the middle halves of both sets of samples do not overlap. Two days on a shared
            machine differ by more than that.
          </p>
          <Table rows={shown ?? []} />
        </Panel>
      )}
    </>
  );
}

function useData(name: string | undefined) {
  const place = name && `/jobs/${name}/report`;
  return useResource<ReportData>(place, async (signal) => {
    const answer = await request(`/jobs/${name}/report`, { signal, headers: { Accept: "text/html" } });
    const data = dataIn(await answer.text());
    if (!data) throw new Error(`Report ${name} has no data that this page can read.`);
    return data;
  });
}

const about = ({ machine, version, time }: ReportData): string => `${machine.host}, hpvm ${version}, ${new Date(time * 1000).toLocaleString()}`;

const HEADS = ["Measurement", "What", "Before", "Now", "Ratio", "Verdict"];

function Table({ rows }: { rows: Difference[] }) {
  if (rows.length === 0) return <p>Nothing has changed by more than chance.</p>;
  return (
    <div class="wide" role="region" aria-label="Table of differences" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th scope="col" class={["Before", "Now", "Ratio"].includes(head) ? "number" : ""}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr>
              <th scope="row">{each.measurement}</th>
              <td>{each.what}</td>
              <td class="number">
                {figure(each.before)} {each.unit}
              </td>
              <td class="number">
                {figure(each.now)} {each.unit}
              </td>
              <td class="number">{each.ratio.toFixed(2)}</td>
              <td class={`verdict ${each.verdict}`}>{each.verdict}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
