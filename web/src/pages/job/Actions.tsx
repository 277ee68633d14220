// What can be done with a job. The server says what is possible and why not; what cannot be undone
// is asked for again, in its place and not in a window over the page. Of a task of an array, the whole
// array can be meant.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { post, request } from "../../api/client";
import type { Job } from "../../api/types";
import { Trouble } from "../../components/small";
import { useKeys } from "../../keys/keys";
import { nameOf } from "../../model/name";
import * as jobs from "../../state/jobs";
import { go } from "../../state/route";

type Name = keyof Job["actions"];
type Action = Job["actions"][Name];

const POSSIBLE: Action = { allowed: true };

interface Meaning {
  label: string;
  /// Asked before it is done.
  question?: (what: string) => string;
  yes?: string;
  key?: string;
}

const ACTIONS: Record<Name, Meaning> = {
  cancel: {
    label: "Cancel",
    question: (what) => `Cancel ${what}? Its processes end; records and output stay.`,
    yes: "Cancel the job",
    key: "c",
  },
  hold: { label: "Hold", key: "h" },
  release: { label: "Release", key: "r" },
  delete: {
    label: "Remove",
    question: (what) => `Remove the record of ${what} and the output that the server keeps? Nobody can undo it.`,
    yes: "Remove the record",
  },
};

const ORDER: readonly Name[] = ["cancel", "hold", "release", "delete"];

export function Actions({ job, changed }: { job: Job; changed: () => void }) {
  const [asked, setAsked] = useState<Name>();
  const [waits, setWaits] = useState<Name>();
  const [error, setError] = useState<unknown>();
  const [ticked, setTicked] = useState(false);
  /// The array, if all of it is meant; records are removed one by one.
  const arrayFor = (name: Name) => (ticked && name !== "delete" ? job.array?.id : undefined);
  const can = (name: Name) => job.actions[name].allowed || arrayFor(name) !== undefined;
  const act = async (name: Name) => {
    setAsked(undefined);
    setWaits(name);
    setError(undefined);
    try {
      await perform(job, name, arrayFor(name));
      if (name !== "delete") changed();
    } catch (refused) {
      setError(refused);
    } finally {
      setWaits(undefined);
    }
  };
  const press = (name: Name) => {
    if (!can(name) || waits) return;
    if (ACTIONS[name].question) setAsked(name);
    else void act(name);
  };
  useKeys("This job", [
    ...ORDER.flatMap((name) => {
      const { key, label } = ACTIONS[name];
      return key ? [{ keys: key, does: label.toLowerCase(), run: () => press(name) }] : [];
    }),
    { keys: "R", does: "submit again", run: () => go(`/submit?from=${job.id}`) },
  ]);
  return (
    <div class="actions">
      {ORDER.filter((name) => name !== "delete" || job.actions.delete.allowed).map((name) => (
        <Button name={name} action={can(name) ? POSSIBLE : job.actions[name]} waits={waits === name} press={() => press(name)} />
      ))}
      {job.array && (
        <label class="check">
          <input type="checkbox" checked={ticked} onChange={(event) => setTicked(event.currentTarget.checked)} />
          all of array {job.array.id}
        </label>
      )}
      <a class="button" href={`/submit?from=${job.id}`}>
        Submit again
      </a>
      {asked && <Confirm job={job} name={asked} array={arrayFor(asked)} yes={() => void act(asked)} no={() => setAsked(undefined)} />}
      <Trouble error={error} />
    </div>
  );
}

async function perform(job: Job, name: Name, array: number | undefined): Promise<void> {
  if (name === "delete") {
    await request(`/jobs/${job.id}`, { method: "DELETE" });
    jobs.remove(job.id);
    go("/jobs");
  } else {
    // The event of what it led to may come before the answer: the answer then says what was.
    const at = jobs.mark();
    const path = array === undefined ? `/jobs/${job.id}/${name}` : `/jobs/${array}/${name}?array=true`;
    jobs.merge([await post<Job>(path)], at);
  }
}

/// A button that is not possible stays where it is and says why.
function Button({ name, action, waits, press }: { name: Name; action: Action; waits: boolean; press: () => void }) {
  const why = action.why_not ?? undefined;
  const id = `why-${name}`;
  return (
    <>
      <button
        type="button"
        aria-disabled={!action.allowed}
        aria-describedby={why ? id : undefined}
        title={why}
        onClick={press}
      >
        {waits ? `${ACTIONS[name].label} …` : ACTIONS[name].label}
      </button>
      {why && (
        <span id={id} class="hidden">
          {why}
        </span>
      )}
    </>
  );
}

interface Question {
  job: Job;
  name: Name;
  array: number | undefined;
  yes: () => void;
  no: () => void;
}

function Confirm({ job, name, array, yes, no }: Question) {
  const button = useRef<HTMLButtonElement>(null);
  const before = useRef(document.activeElement);
  useLayoutEffect(() => {
    button.current?.focus();
    return () => (before.current as HTMLElement | null)?.focus?.();
  }, []);
  useKeys("Question", [{ keys: "Escape", does: "leave it as it is", run: no }]);
  return (
    <div class="confirm" role="alertdialog" aria-label={ACTIONS[name].label} aria-describedby="question">
      <span id="question">{ACTIONS[name].question?.(array === undefined ? `job ${nameOf(job)}` : `all of array ${array}`)}</span>
      <button type="button" class="danger" ref={button} onClick={yes}>
        {array === undefined ? ACTIONS[name].yes : `${ACTIONS[name].label} all`}
      </button>
      <button type="button" onClick={no}>
        Leave it
      </button>
    </div>
  );
}
