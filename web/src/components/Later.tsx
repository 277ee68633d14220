// Pages that few open: their code is fetched when one does.

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Unreachable } from "../api/client";
import { busy } from "../state/idle";
import { Trouble } from "./small";

type Name = "Account" | "Administration";

export function Later({ name }: { name: Name }) {
  const [pages, setPages] = useState<Record<Name, FunctionComponent>>();
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const done = busy();
    import("../pages/admin/pages").then((loaded) => setPages(loaded), () => setError(new Unreachable())).finally(done);
  }, [turn]);
  const again = () => {
    setError(undefined);
    setTurn(turn + 1);
  };
  if (!pages) return <Trouble error={error} retry={again} />;
  const Page = pages[name];
  return <Page />;
}
