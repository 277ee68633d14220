// Parts that few open: their code is fetched when one does.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Unreachable } from "../api/client";
import { busy } from "../state/idle";
import { Trouble } from "./small";

interface Props<T> {
  /// Fetches the code; the same every time.
  load: () => Promise<T>;
  show: (code: T) => ComponentChildren;
}

export function Later<T>({ load, show }: Props<T>) {
  const [code, setCode] = useState<{ it: T }>();
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const done = busy();
    load().then((it) => setCode({ it }), () => setError(new Unreachable())).finally(done);
  }, [turn]);
  const again = () => {
    setError(undefined);
    setTurn(turn + 1);
  };
  return <>{code ? show(code.it) : <Trouble error={error} retry={again} />}</>;
}
