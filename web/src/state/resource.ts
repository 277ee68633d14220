// An answer of the server that a part of the page shows: the last one stays until the next has come.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Resource<T> {
  value: T | undefined;
  error: unknown;
  reload: () => void;
}

/// Asks when `key` changes, and again when `turn` does. An undefined key asks nothing; without `asks` nothing is asked
/// any more, and the last answer stays.
export function useResource<T>(
  key: string | undefined,
  ask: (signal: AbortSignal) => Promise<T>,
  turn: unknown = 0,
  asks = true,
): Resource<T> {
  const [state, setState] = useState<{ key: string | undefined; value?: T; error?: unknown }>({ key });
  const [again, setAgain] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (key === undefined || !asks) return;
    const stop = new AbortController();
    latest.current(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setState({ key, value });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((former) => (former.key === key ? { ...former, error } : { key, error }));
      },
    );
    return () => stop.abort();
  }, [key, turn, again, asks]);
  const reload = useCallback(() => setAgain((n) => n + 1), []);
  const mine = state.key === key;
  return { value: mine ? state.value : undefined, error: mine ? state.error : undefined, reload };
}
