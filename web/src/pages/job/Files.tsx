// The files of a job that the server knows: its output and its script.

import { API } from "../../api/client";
import { downloadPath } from "../../api/output";
import type { Job } from "../../api/types";
import { bytes } from "../../model/units";

export function FilesTab({ job }: { job: Job }) {
  const { stdout, stderr } = job.spec;
  const rows = [
    { name: "Standard output", place: stdout ?? "kept by the server", size: job.output.stdout, link: downloadPath(job.id, "stdout") },
    {
      name: "Standard error",
      place: stderr ?? (stdout ? "with standard output" : "kept by the server"),
      size: job.output.stderr,
      link: downloadPath(job.id, "stderr"),
    },
  ];
  const script = job.spec.script;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Files">
      <table>
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">Where</th>
            <th scope="col">Size</th>
            <th scope="col">Get</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row">{row.name}</th>
              <td>
                <code>{row.place}</code>
              </td>
              <td class="number">{bytes(row.size)}</td>
              <td>
                <a href={row.link} download>
                  Download<span class="hidden"> {row.name}</span>
                </a>
              </td>
            </tr>
          ))}
          {script != null && (
            <tr>
              <th scope="row">Script</th>
              <td class="dim">kept by the server</td>
              <td class="number">{bytes(new Blob([script]).size)}</td>
              <td>
                <a href={`${API}/jobs/${job.id}/script`} download={`job-${job.id}.sh`}>
                  Download<span class="hidden"> script</span>
                </a>
              </td>
            </tr>
          )}
        </tbody>
      </table>
      {job.spec.workdir && (
        <p>
          <span class="dim">It runs in</span> <code>{job.spec.workdir}</code>
        </p>
      )}
    </div>
  );
}
