// A long list of rows of one height, of which only those in view and some around them are in the
// DOM. Screen readers hear how many rows there are. The focus stays on the list, which names the
// active row: a row that leaves the DOM takes no focus with it.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/// Rows kept above and below those in view.
const OVERSCAN = 8;

export interface View {
  first: number;
  /// Behind the last row.
  last: number;
}

/// The rows to draw of `count`, as `box` scrolls.
export function useView(box: RefObject<HTMLElement | null>, count: number, height: number): View {
  const [view, setView] = useState<View>({ first: 0, last: 40 });
  const measure = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - OVERSCAN);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / height) + OVERSCAN;
    setView((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  useLayoutEffect(measure, [count, height]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [height]);
  return { first: Math.min(view.first, count), last: Math.min(view.last, count) };
}

export interface GridProps {
  label: string;
  /// Rows, the header not counted.
  count: number;
  height: number;
  header: ComponentChildren;
  columns: number;
  active: number;
  setActive: (index: number) => void;
  open: (index: number) => void;
  /// The cells of a row, each with `role="gridcell"`.
  row: (index: number) => ComponentChildren;
  rowKey: (index: number) => string | number;
}

/// A table of rows that open, by mouse and by keyboard.
export function Grid(props: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useView(box, props.count, props.height);
  const indices = Array.from({ length: view.last - view.first }, (_, i) => view.first + i);
  const shown = props.active >= view.first && props.active < view.last;
  useEffect(() => reveal(box.current, props.active, props.height), [props.active]);
  return (
    <div
      class="grid"
      role="grid"
      aria-label={props.label}
      aria-rowcount={props.count + 1}
      aria-colcount={props.columns}
      aria-activedescendant={shown ? rowId(props.active) : undefined}
      tabIndex={0}
      onKeyDown={(event) => move(event, props, box.current)}
    >
      <div class="scroll" ref={box} role="presentation">
        <div role="row" aria-rowindex={1} class="row head">
          {props.header}
        </div>
        <div class="tall" role="rowgroup" style={{ height: `${props.count * props.height}px` }}>
          {indices.map((index) => (
            <div
              key={props.rowKey(index)}
              id={rowId(index)}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={index === props.active}
              class={`row${index === props.active ? " active" : ""}`}
              style={{ transform: `translateY(${index * props.height}px)`, height: `${props.height}px` }}
              onClick={() => props.setActive(index)}
              onDblClick={() => props.open(index)}
            >
              {props.row(index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

const rowId = (index: number): string => `row-${index}`;

/// Keys of a grid (ARIA practices), and those of vi.
function move(event: KeyboardEvent, props: GridProps, box: HTMLElement | null): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
  const page = Math.max(1, Math.floor((box?.clientHeight ?? 0) / props.height) - 1);
  const steps: Record<string, number> = {
    ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
  };
  const step = steps[event.key];
  if (step !== undefined) {
    event.preventDefault();
    props.setActive(Math.min(Math.max(0, props.active + step), props.count - 1));
  } else if (event.key === "Enter" && props.active < props.count) {
    event.preventDefault();
    props.open(props.active);
  }
}

function reveal(box: HTMLElement | null, index: number, height: number): void {
  if (!box) return;
  // The head stays at the top of the box and covers what scrolls under it.
  const room = box.clientHeight - (box.firstElementChild?.clientHeight ?? 0);
  const top = index * height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + room) box.scrollTop = top + height - room;
}
