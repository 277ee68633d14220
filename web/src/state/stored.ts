// Small settings that outlive the page. A browser may forbid storage: then they live as long as it.

import { signal, type Signal } from "@preact/signals";

/// A signal kept under `name`. `read` judges what is found, which anybody may have written.
export function stored<T extends string>(name: string, read: (text: string | null) => T): Signal<T> {
  const key = `hpvm.${name}`;
  const kept = signal(read(attempt(() => localStorage.getItem(key)) ?? null));
  kept.subscribe((value) => {
    attempt(() => (value ? localStorage.setItem(key, value) : localStorage.removeItem(key)));
  });
  addEventListener("storage", (event) => {
    if (event.key === key) kept.value = read(event.newValue);
  });
  return kept;
}

function attempt<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
