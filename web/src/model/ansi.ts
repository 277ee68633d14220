// Colours of terminal output. Text becomes spans with classes or colours, never markup; every other
// escape sequence is dropped, and control characters become their pictures.

export interface Span {
  text: string;
  /// Class names: `b` bold, `d` dim, `i` italic, `u` underlined, `r` reversed, `f0`-`f15`, `g0`-`g15`.
  classes: string;
  /// A colour outside of the sixteen, as `#rrggbb`.
  color?: string;
  background?: string;
}

interface Style {
  flags: Set<string>;
  fore: string | undefined;
  back: string | undefined;
}

/// ECMA-48: a control sequence, an operating system command, or a single escape.
// eslint-disable-next-line no-control-regex
const ESCAPE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?/g;

/// Spans of one line. Colours do not reach over its end: a line is drawn without those before it.
export function spans(line: string): Span[] {
  const out: Span[] = [];
  let style: Style = { flags: new Set(), fore: undefined, back: undefined };
  let at = 0;
  const add = (text: string) => {
    if (text) out.push(span(visible(text), style));
  };
  for (const match of line.matchAll(ESCAPE)) {
    add(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === "m") style = apply(style, match[1] ?? "");
  }
  add(line.slice(at));
  return out;
}

/// The line as plain text, for search and copies.
export function plain(line: string): string {
  return line.includes("\x1b") ? visible(line.replace(ESCAPE, "")) : visible(line);
}

/// Of a line that was overwritten (progress bars), what a terminal would still show last.
export function overwritten(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\x00-\x08\x0a-\x1f\x7f]/g, (c) =>
    String.fromCharCode(c === "\x7f" ? 0x2421 : 0x2400 + c.charCodeAt(0)),
  );
}

function span(text: string, style: Style): Span {
  const classes = [...style.flags];
  const made: Span = { text, classes: "" };
  const paint = (value: string | undefined, letter: string, key: "color" | "background") => {
    if (value?.startsWith("#")) made[key] = value;
    else if (value !== undefined) classes.push(letter + value);
  };
  paint(style.fore, "f", "color");
  paint(style.back, "g", "background");
  made.classes = classes.join(" ");
  return made;
}

const FLAGS: Record<number, string> = { 1: "b", 2: "d", 3: "i", 4: "u", 7: "r", 9: "s" };
const OFF: Record<number, string[]> = { 22: ["b", "d"], 23: ["i"], 24: ["u"], 27: ["r"], 29: ["s"] };

/// Select graphic rendition.
function apply(before: Style, parameters: string): Style {
  const style: Style = { ...before, flags: new Set(before.flags) };
  const codes = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(style, { flags: new Set(), fore: undefined, back: undefined });
    else if (FLAGS[code]) style.flags.add(FLAGS[code]);
    else if (OFF[code]) OFF[code].forEach((flag) => style.flags.delete(flag));
    else if (code >= 30 && code <= 37) style.fore = String(code - 30);
    else if (code >= 90 && code <= 97) style.fore = String(code - 82);
    else if (code >= 40 && code <= 47) style.back = String(code - 40);
    else if (code >= 100 && code <= 107) style.back = String(code - 92);
    else if (code === 39) style.fore = undefined;
    else if (code === 49) style.back = undefined;
    else if (code === 38 || code === 48) {
      const [color, used] = extended(codes.slice(i + 1));
      i += used;
      if (code === 38) style.fore = color ?? style.fore;
      else style.back = color ?? style.back;
    }
  }
  return style;
}

/// `5;n` (256 colours) or `2;r;g;b`; says how many codes it took.
function extended(codes: number[]): [string | undefined, number] {
  const [kind, a = 0, b = 0, c = 0] = codes;
  const hex = (...parts: number[]) =>
    `#${parts.map((part) => (part & 255).toString(16).padStart(2, "0")).join("")}`;
  if (kind === 2) return [hex(a, b, c), 4];
  if (kind !== 5) return [undefined, codes.length];
  if (a < 16) return [String(a), 2];
  if (a >= 232) return [hex(...Array<number>(3).fill((a - 232) * 10 + 8)), 2];
  const level = (n: number) => (n === 0 ? 0 : n * 40 + 55);
  const cube = a - 16;
  return [hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2];
}
