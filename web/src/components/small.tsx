// Small parts that many pages use.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { JobSummary } from "../api/types";
import { sentence } from "../api/client";
import { ran } from "../model/outcome";
import { duration, relative } from "../model/units";
import { now } from "../state/clock";
import { close, shows, type Hint } from "../state/hints";

/// A moment: how long ago, and exactly on hover and in the DOM.
export function When({ at }: { at: string | null | undefined }) {
  if (!at) return null;
  const exact = new Date(at);
  return (
    <time dateTime={at} title={exact.toLocaleString()}>
      {relative(exact.getTime(), now.value)}
    </time>
  );
}

/// How long a job has run, of how long it may, as a number and a bar.
export function Progress({ job }: { job: JobSummary }) {
  const seconds = ran(job, now.value);
  if (seconds === undefined) return null;
  const limit = job.time_limit_seconds;
  const fraction = limit ? Math.min(1, seconds / limit) : 0;
  return (
    <span class="progress">
      <span>
        {duration(seconds)}
        {limit ? <span class="dim"> of {duration(limit)}</span> : null}
      </span>
      {limit && job.state === "running" ? (
        <span class="meter" aria-hidden="true">
          <span style={{ transform: `scaleX(${fraction})` }} />
        </span>
      ) : null}
    </span>
  );
}

/// A command with a button that copies it.
export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      // A browser that forbids it leaves the text, which can be selected.
    }
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={() => void copy()} aria-label={`Copy: ${text}`}>
        {copied ? "copied" : "copy"}
      </button>
    </span>
  );
}

/// Nothing to show: why, and what to do.
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{title}</p>
      {children}
    </div>
  );
}

/// A first visit's sentence, in its place.
export function HintNote({ name, children }: { name: Hint; children: ComponentChildren }) {
  if (!shows(name)) return null;
  return (
    <p class="hint" role="note">
      <span>{children}</span>
      <button type="button" class="quiet" onClick={() => close(name)}>
        Got it
      </button>
    </p>
  );
}

/// What went wrong, for a person.
export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === undefined || error === null) return null;
  return (
    <p class="trouble" role="alert">
      {sentence(error)}{" "}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </p>
  );
}

/// A panel with a heading.
export function Panel({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
  const id = `panel-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/// Saves text as a file of the reader's.
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the address by then; it reads the blob on its own.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
