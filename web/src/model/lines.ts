// A window on an output that may be larger than memory: whole lines between two byte offsets.

/// Most bytes of output kept in a tab. A gigabyte passes through, this much stays.
export const WINDOW_BYTES = 4 << 20;

/// Longest piece of a line that is drawn; the rest is counted.
export const LINE_SHOWN = 4000;

/// A line without an end is cut into pieces of about this many characters.
const LONGEST_LINE = 1 << 16;

export interface Line {
  text: string;
  /// Offset of its first byte.
  offset: number;
}

export class Window {
  readonly lines: Line[] = [];
  /// The last line, as far as it was written.
  private open: Line | undefined;
  private first: number;
  private behind: number;
  private decoder = new TextDecoder();

  constructor(offset = 0, private readonly limit = WINDOW_BYTES) {
    this.first = offset;
    this.behind = offset;
  }

  /// Offset of the first byte that is kept.
  get start(): number {
    return this.first;
  }

  /// Offset behind the last byte that was taken.
  get end(): number {
    return this.behind;
  }

  /// All lines, the unfinished one at the end included.
  all(): Line[] {
    return this.open ? [...this.lines, this.open] : this.lines;
  }

  get count(): number {
    return this.lines.length + (this.open ? 1 : 0);
  }

  at(index: number): Line | undefined {
    return index < this.lines.length ? this.lines[index] : this.open;
  }

  /// Takes bytes that follow `end`. Drops lines from the beginning when there are too many; says how
  /// many. `to` is where the bytes end in the file, if that is not told by their number.
  append(bytes: Uint8Array, to = this.behind + bytes.length): number {
    for (let from = 0; from < bytes.length; ) {
      const newline = bytes.indexOf(10, from);
      const to = newline < 0 ? bytes.length : newline;
      const text = this.decoder.decode(bytes.subarray(from, to), { stream: newline < 0 });
      this.open ??= { text: "", offset: this.behind + from };
      this.open.text += text;
      // Without a newline for so long it is not lines; it is kept in pieces that can be dropped.
      if (newline >= 0 || this.open.text.length > LONGEST_LINE) {
        this.lines.push(this.open);
        this.open = undefined;
      }
      from = to + 1;
    }
    this.behind = to;
    return this.dropFirst();
  }

  /// Puts whole lines before `start`. `bytes` ends where the window begins. Drops from the end.
  /// Says how many lines came.
  prepend(bytes: Uint8Array): number {
    const offset = this.first - bytes.length;
    // What comes before the first newline belongs to a line whose beginning is not here.
    const cut = offset === 0 ? 0 : bytes.indexOf(10) + 1;
    if (cut === 0 && offset !== 0) return 0;
    const before = new Window(offset + cut, Infinity);
    before.append(bytes.subarray(cut));
    this.lines.unshift(...before.lines);
    this.first = offset + cut;
    this.dropLast();
    return before.lines.length;
  }

  private dropFirst(): number {
    let drop = 0;
    while (this.behind - this.first > this.limit && drop < this.lines.length) {
      drop += 1;
      this.first = this.lines[drop]?.offset ?? this.open?.offset ?? this.behind;
    }
    if (drop > 0) this.lines.splice(0, drop);
    return drop;
  }

  private dropLast(): void {
    if (this.behind - this.first <= this.limit) return;
    this.open = undefined;
    while (this.behind - this.first > this.limit) {
      const last = this.lines.pop();
      if (!last) return;
      this.behind = last.offset;
    }
    this.decoder = new TextDecoder();
  }
}

/// The rank that `mpirun -l` put in front of a line: "[3] text".
export function rankOf(text: string): number | undefined {
  const match = /^\[(\d+)\] /.exec(text);
  return match ? Number(match[1]) : undefined;
}
