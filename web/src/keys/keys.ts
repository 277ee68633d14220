// Keys: one table, from which the help panel is made, too. Parts of the page add theirs while shown.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { stored } from "../state/stored";

/// "j", "g j" (one after the other), "Enter", "?".
export interface Key {
  keys: string;
  does: string;
  /// Without it the key is only told of in the help panel: what has the focus answers it itself, and nobody keeps it from
  /// doing so.
  run?: (() => void) | undefined;
}

export interface Group {
  title: string;
  keys: readonly Key[];
}

/// Speech input types single letters by accident (WCAG 2.1.4): they can be switched off.
export const enabled = stored<string>("keys", (text) => (text === "off" ? "off" : ""));

export const groups = signal<readonly Group[]>([]);

/// Time between the two keys of a sequence.
const SEQUENCE_MS = 1000;

let first: { key: string; at: number } | undefined;

/// Adds keys while the component is shown.
export function useKeys(title: string, keys: readonly Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  const shape = keys.map((key) => key.keys + key.does).join("|");
  // With the component and not after it is drawn: what is to be seen can be answered.
  useLayoutEffect(() => {
    const group: Group = {
      title,
      keys: latest.current.map((key, i) => ({ ...key, run: key.run && (() => latest.current[i]?.run?.()) })),
    };
    groups.value = [...groups.value, group];
    return () => {
      groups.value = groups.value.filter((each) => each !== group);
    };
  }, [title, shape]);
}

export function startKeys(): void {
  addEventListener("keydown", press);
}

function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (edits(event.target) && event.key !== "Escape") return;
  if (enabled.value === "off" && event.key.length === 1 && event.key !== "?") return;
  const sequence = first && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : "";
  first = undefined;
  // What was added last is nearest to the reader.
  const all = groups.value.toReversed().flatMap((group) => group.keys).filter((key) => key.run);
  const found = all.find((key) => key.keys === sequence) ?? all.find((key) => key.keys === event.key);
  if (found) {
    event.preventDefault();
    found.run?.();
  } else if (all.some((key) => key.keys.startsWith(`${event.key} `))) {
    first = { key: event.key, at: event.timeStamp };
  }
}

/// Whether typing here means text.
function edits(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}
