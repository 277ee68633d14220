// A table of counters: a column per rank, and one for all.

/// Ranks in the table at most; files have all.
export const MOST_COLUMNS = 32;

export interface Cell {
  text: string;
  title: string;
  /// Of the largest in its row, 0 to 1: a bar below the number.
  share?: number;
}

interface Props {
  label: string;
  head: string;
  ranks: readonly { rank: number }[];
  rows: { name: string; cells: Cell[]; all: Cell }[];
}

export function Grid({ label, head, ranks, rows }: Props) {
  const number = (cell: Cell) => (
    <td class="number" title={cell.title}>
      {cell.text}
      {cell.share !== undefined && <span class="under" aria-hidden="true" style={{ transform: `scaleX(${cell.share})` }} />}
    </td>
  );
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={label}>
      <table class="counters">
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {[...ranks.slice(0, MOST_COLUMNS).map(({ rank }) => `rank ${rank}`), "All"].map((name) => (
              <th scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, cells, all }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {cells.slice(0, MOST_COLUMNS).map(number)}
              {number(all)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
