import { Empty } from "../components/small";

export function Nothing({ path }: { path: string }) {
  return (
    <Empty title={`There is nothing at ${path}.`}>
      <a href="/">To the overview</a>
    </Empty>
  );
}
