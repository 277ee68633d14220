// A change that somebody asks for: while it is under way, and when it is refused.

import { useState } from "preact/hooks";
import { request } from "../../api/client";

export interface Doing {
  waits: boolean;
  error: unknown;
  /// True when it was done.
  run: (what: () => Promise<unknown>) => Promise<boolean>;
}

export function useDoing(): Doing {
  const [waits, setWaits] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (what: () => Promise<unknown>) => {
    setWaits(true);
    setError(undefined);
    try {
      await what();
      return true;
    } catch (refused) {
      setError(refused);
      return false;
    } finally {
      setWaits(false);
    }
  };
  return { waits, error, run };
}

export const put = (path: string, body: unknown) => request(path, { method: "PUT", body });
export const remove = (path: string) => request(path, { method: "DELETE" });

/// What a field of a form holds.
export const field = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? "").trim();
