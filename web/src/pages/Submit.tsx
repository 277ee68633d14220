// A form that shows the command line it equals. The server judges each field while one types; what
// is typed stays through errors, reloads and a slow network, and is submitted once.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, newKey, post, Refused } from "../api/client";
import type { Job, JobSpec, Queues, Validated } from "../api/types";
import { Command, Trouble, When } from "../components/small";
import { BINDINGS, EMPTY, fromSpec, toSpec, type Draft, type Field, type Problems } from "../model/draft";
import { JOB_NAME, nameOf } from "../model/name";
import * as jobs from "../state/jobs";
import { address, go, jobPath, setParameter } from "../state/route";
import { useResource } from "../state/resource";
import { ProgramFields } from "./submit/Program";
import { TextField } from "./submit/TextField";

/// Typing pauses for so long before the server is asked.
const ASK_AFTER_MS = 200;

export function Submit() {
  const [draft, setDraft] = useDraft();
  const { spec, problems } = useMemo(() => toSpec(draft), [draft]);
  const empty = draft.kind === "command" ? draft.command.trim() === "" : draft.script.trim() === "";
  const judged = useJudge(spec, !empty && Object.keys(problems).length === 0);
  const sending = useSending(spec);
  const queues = useResource("/queues", (signal) => get<Queues>("/queues", signal));
  const form = useRef<HTMLFormElement>(null);
  const refused = sending.error ?? judged.error;
  const said = useMemo(() => ({ ...fieldErrors(refused), ...problems }), [refused, problems]);
  const set = (field: Partial<Draft>) => setDraft({ ...draft, ...field });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (Object.keys(problems).length > 0) return focusFirst(form.current);
    if (await sending.send()) setDraft(EMPTY);
    else focusFirst(form.current);
  };
  const field = (name: Field) => ({ name, draft, set, problem: empty && name === draft.kind && !sending.error ? undefined : said[name] });
  return (
    <form class="submit" ref={form} noValidate onSubmit={(event) => void submit(event)}>
      <h1>Submit a job</h1>
      <ProgramFields field={field} draft={draft} set={set} />
      <fieldset class="fields">
        <legend>How much</legend>
        <TextField {...field("ranks")} label="Ranks" inputMode="numeric" />
        <TextField {...field("time_limit_seconds")} label="Time limit" placeholder="minutes or 1:30:00" />
        <TextField {...field("memory_bytes")} label="Memory per host" placeholder="4G" />
        <TextField {...field("cpus_per_rank")} label="Processors per rank" inputMode="numeric" />
        <TextField {...field("nodes")} label="Hosts" inputMode="numeric" />
        <TextField {...field("gpus")} label="GPUs" inputMode="numeric" />
        <TextField {...field("queue")} label="Queue" options={queues.value?.queues.map((queue) => queue.name)} />
      </fieldset>
      <details open={openDetails(draft)}>
        <summary>More: name, files, dependencies, array, environment</summary>
        <div class="fields">
          <TextField {...field("name")} label="Name" />
          <TextField {...field("workdir")} label="Folder" placeholder="home folder" />
          <TextField {...field("stdout")} label="Standard output" placeholder="kept by the server" />
          <TextField {...field("stderr")} label="Standard error" placeholder="kept by the server" />
          <TextField {...field("hosts")} label="Only on hosts" placeholder="n1,n2" />
          <TextField {...field("depends_on")} label="After other jobs" placeholder="afterok:12" />
          <TextField {...field("array")} label="Array" placeholder="0-9%2" />
          <TextField {...field("priority")} label="Priority" inputMode="numeric" placeholder="0" />
          <TextField {...field("max_processes")} label="Processes at most" inputMode="numeric" placeholder="no limit" />
          <TextField {...field("cpu_bind")} label="CPU binding" placeholder="the job's processors" options={[...BINDINGS]} />
          <TextField {...field("max_restarts")} label="Restarts" inputMode="numeric" placeholder="0" />
          <TextField {...field("env")} label="Environment" placeholder="NAME=value, one a line" lines={3} />
          <label class="check">
            <input type="checkbox" checked={draft.hold} onChange={(event) => set({ hold: event.currentTarget.checked })} />
            Hold it until released
          </label>
        </div>
      </details>
      <section class="equals" aria-label="The same on the command line">
        <Equals value={judged.value} stale={judged.stale} empty={empty} />
      </section>
      <div class="bar">
        <button type="submit" class="primary" disabled={sending.waits}>
          {sending.waits ? "Submitting …" : sending.error ? "Try again" : "Submit"}
        </button>
        <button type="button" onClick={() => (setDraft(EMPTY), setParameter("from", undefined))}>
          Clear
        </button>
        <Trouble error={sending.error ?? otherError(judged.error, empty)} />
      </div>
    </form>
  );
}

function openDetails(draft: Draft): boolean {
  const fields = ["name", "hosts", "workdir", "stdout", "stderr", "depends_on", "array", "priority", "max_processes", "cpu_bind", "max_restarts", "env"] as const;
  return draft.hold || fields.some((field) => draft[field] !== "");
}

function Equals({ value, stale, empty }: { value: Validated | undefined; stale: boolean; empty: boolean }) {
  if (empty || !value) return <p class="dim">The command line that does the same shows here.</p>;
  return (
    <div class={stale ? "stale" : ""}>
      <Command text={value.command_line} />
      {value.estimated_start && (
        <p class="dim">
          It would start <When at={value.estimated_start} /> at the latest.
        </p>
      )}
    </div>
  );
}

/// What is typed outlives a reload. `?from=12` fills in what job 12 was.
function useDraft(): [Draft, (draft: Draft) => void] {
  const from = address.value.searchParams.get("from");
  const [draft, setDraft] = useState<Draft>(() => (from ? EMPTY : kept()));
  useEffect(() => {
    if (!from || !JOB_NAME.test(from)) return;
    const stop = new AbortController();
    get<Job>(`/jobs/${from}`, stop.signal).then(
      (job) => setDraft(fromSpec(job.spec)),
      () => {},
    );
    return () => stop.abort();
  }, [from]);
  const set = (next: Draft) => {
    setDraft(next);
    try {
      sessionStorage.setItem("hpvm.draft", JSON.stringify(next));
    } catch {
      // Without storage the draft lives as long as the page.
    }
  };
  return [draft, set];
}

function kept(): Draft {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem("hpvm.draft") ?? "{}");
    const draft: Record<string, unknown> = { ...EMPTY };
    for (const [name, value] of Object.entries(found as object)) {
      if (typeof value === typeof draft[name]) draft[name] = value;
    }
    return draft as unknown as Draft;
  } catch {
    return EMPTY;
  }
}

interface Judged {
  value: Validated | undefined;
  error: unknown;
  /// The answer is to what was typed before.
  stale: boolean;
}

/// The server's judgement of the job, a moment after typing has paused.
function useJudge(spec: JobSpec, readable: boolean): Judged {
  const text = JSON.stringify(spec);
  const [asked, setAsked] = useState("");
  useEffect(() => {
    if (!readable) return;
    const timer = setTimeout(() => setAsked(text), ASK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text, readable]);
  const last = useRef<Validated>(undefined);
  const answer = useResource(asked || undefined, () => post<Validated>("/jobs?validate=1", JSON.parse(asked)));
  if (answer.value) last.current = answer.value;
  const fresh = asked === text && readable;
  return { value: last.current, error: fresh ? answer.error : undefined, stale: !fresh || !answer.value };
}

interface Sending {
  waits: boolean;
  error: unknown;
  /// Whether it was submitted.
  send: () => Promise<boolean>;
}

/// Sends the job. The same job sent again after an error has the same key, so that an answer that
/// was lost on the way does not make two of it.
function useSending(spec: JobSpec): Sending {
  const [waits, setWaits] = useState(false);
  const [failed, setFailed] = useState<{ text: string; error: unknown }>();
  const key = useRef({ text: "", value: "" });
  const busy = useRef(false);
  const text = JSON.stringify(spec);
  const send = async (): Promise<boolean> => {
    if (busy.current) return false;
    busy.current = true;
    setWaits(true);
    if (key.current.text !== text) key.current = { text, value: newKey() };
    try {
      const at = jobs.mark();
      const job = await post<Job>("/jobs", spec, { "Idempotency-Key": key.current.value });
      jobs.merge([job], at);
      key.current = { text: "", value: "" };
      go(jobPath(nameOf(job)));
      return true;
    } catch (error) {
      setFailed({ text, error });
      return false;
    } finally {
      busy.current = false;
      setWaits(false);
    }
  };
  return { waits, error: failed?.text === text ? failed.error : undefined, send };
}

function fieldErrors(error: unknown): Problems {
  if (!(error instanceof Refused)) return {};
  return Object.fromEntries((error.problem.errors ?? []).map(({ field, detail }) => [fieldName(field), detail])) as Problems;
}

/// "depends_on[0].job" and "env.PATH" are said at the field they belong to.
function fieldName(field: string): string {
  return field.split(/[.[]/)[0] ?? field;
}

/// What belongs to no field; before anything is typed there is nothing to say.
function otherError(error: unknown, empty: boolean): unknown {
  if (empty || (error instanceof Refused && (error.problem.errors ?? []).length > 0)) return undefined;
  return error;
}

function focusFirst(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
}
