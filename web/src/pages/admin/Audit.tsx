// Who changed what, newest first.

import { useState } from "preact/hooks";
import { get } from "../../api/client";
import type { AuditLog } from "../../api/types";
import { Panel, Trouble, When } from "../../components/small";
import { useResource } from "../../state/resource";

const PAGE = 50;

export function Audit() {
  const [before, setBefore] = useState<number>();
  const path = `/audit?limit=${PAGE}${before === undefined ? "" : `&before=${before}`}`;
  const log = useResource(path, (signal) => get<AuditLog>(path, signal));
  const next = log.value?.next_before;
  const newest = (
    <button type="button" onClick={() => (before === undefined ? log.reload() : setBefore(undefined))}>
      {before === undefined ? "Look again" : "Newest"}
    </button>
  );
  return (
    <Panel title="Audit log" aside={newest}>
      <div class="wide" role="region" aria-label="Table of changes" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">User</th>
              <th scope="col">What</th>
              <th scope="col">On</th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            {log.value?.entries.map((entry) => (
              <tr key={entry.id}>
                <td>
                  <When at={entry.at} />
                </td>
                <td>{entry.user}</td>
                <td>{entry.action}</td>
                <td>{entry.target}</td>
                <td>{entry.origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {next != null && (
        <button type="button" onClick={() => setBefore(next)}>
          Older
        </button>
      )}
      <Trouble error={log.error} retry={log.reload} />
    </Panel>
  );
}
