// Limits of the queues, and hosts that get no new jobs.

import { useState } from "preact/hooks";
import { get, post } from "../../api/client";
import type { Host, QueueInfo, Queues as QueueList } from "../../api/types";
import { HostState } from "../../components/HostTile";
import { Panel, Trouble } from "../../components/small";
import * as hosts from "../../state/hosts";
import { useResource } from "../../state/resource";
import { field, put, useDoing } from "./doing";

export function Limits() {
  const queues = useResource("/queues", (signal) => get<QueueList>("/queues", signal));
  return (
    <Panel title="Limits of queues">
      {queues.value?.queues.map((queue) => <Queue key={queue.name} queue={queue} changed={queues.reload} />)}
      <Trouble error={queues.error} retry={queues.reload} />
    </Panel>
  );
}

function Queue({ queue, changed }: { queue: QueueInfo; changed: () => void }) {
  const doing = useDoing();
  const [saved, setSaved] = useState(false);
  const limits = queue.limits ?? {};
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const number = (name: string, scale = 1) => {
      const text = field(form, name);
      return text === "" ? {} : { [name]: Math.round(Number(text) * scale) };
    };
    const body = { ...number("time_limit_seconds", 60), ...number("ranks"), ...number("jobs_per_user") };
    setSaved(await doing.run(() => put(`/queues/${encodeURIComponent(queue.name)}/limits`, body)));
    changed();
  };
  const minutes = limits.time_limit_seconds ? String(limits.time_limit_seconds / 60) : "";
  return (
    <form aria-label={`Limits of ${queue.name}`} onSubmit={(event) => void submit(event)} onInput={() => setSaved(false)}>
      <div class="row">
        <strong>{queue.name}</strong>
        <label>
          Minutes
          <input name="time_limit_seconds" type="number" min="1" step="any" defaultValue={minutes} placeholder="any" />
        </label>
        <label>
          Ranks
          <input name="ranks" type="number" min="1" defaultValue={String(limits.ranks ?? "")} placeholder="any" />
        </label>
        <label>
          Jobs per user
          <input name="jobs_per_user" type="number" min="1" defaultValue={String(limits.jobs_per_user ?? "")} placeholder="any" />
        </label>
        <button type="submit" disabled={doing.waits}>
          Set
        </button>
        {saved && <span role="status">Set.</span>}
      </div>
      <Trouble error={doing.error} />
    </form>
  );
}

export function Draining() {
  hosts.version.value;
  return (
    <Panel title="Hosts">
      {hosts.allHosts().map((host) => (
        <Drain key={host.name} host={host} />
      ))}
    </Panel>
  );
}

function Drain({ host }: { host: Host }) {
  const doing = useDoing();
  const path = `/hosts/${encodeURIComponent(host.name)}`;
  const drained = host.state === "drained";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void doing.run(() => post(`${path}/${drained ? "resume" : "drain"}`, drained ? {} : { reason: field(form, "reason") }));
  };
  return (
    <form aria-label={`Host ${host.name}`} onSubmit={submit}>
      <div class="row">
        <strong>{host.name}</strong>
        <HostState host={host} />
        {drained ? (
          <span class="dim">{host.reason}</span>
        ) : (
          <label>
            Reason
            <input name="reason" required placeholder="e.g. a new disk" autocomplete="off" />
          </label>
        )}
        <button type="submit" disabled={doing.waits}>
          {drained ? "Resume" : "Drain"}
        </button>
      </div>
      <Trouble error={doing.error} />
    </form>
  );
}
