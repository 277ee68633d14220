// Numbers with units, times, durations.

const STEPS = ["", "K", "M", "G", "T", "P"];

/// 1536 -> "1.5 KiB". Three digits at most, so that columns keep their width.
export function bytes(value: number): string {
  const [number, step] = scale(value, 1024);
  return `${number} ${step}${step ? "iB" : "B"}`;
}

/// Bytes per second.
export function rate(value: number): string {
  return `${bytes(value)}/s`;
}

/// 1234567 -> "1.23 M".
export function count(value: number): string {
  const [number, step] = scale(value, 1000);
  return step ? `${number} ${step}` : number;
}

function scale(value: number, base: number): [string, string] {
  let step = 0;
  while (Math.abs(value) >= base && step < STEPS.length - 1) {
    value /= base;
    step += 1;
  }
  const digits = step === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return [value.toFixed(digits), STEPS[step] ?? ""];
}

/// Numbers as the kernel lists them: "0-2,5".
export function ranges(numbers: number[]): string {
  const runs: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/// 0.257 -> "26 %".
export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/// 3751 -> "1:02:31"; with days "2-01:00:00", as Slurm writes it.
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (n: number) => String(n).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  const hours = Math.floor(whole / 3600) % 24;
  const rest = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  if (days > 0) return `${days}-${two(hours)}:${rest}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

/// "5 s ago", "in 3 min".
export function relative(from_ms: number, now_ms: number): string {
  const seconds = Math.round((now_ms - from_ms) / 1000);
  const text = span(Math.abs(seconds));
  if (Math.abs(seconds) < 2) return "now";
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/// A duration in one unit: "43 s", "12 min", "3 h", "5 d".
export function span(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/// "90", "10:00", "1:00:00", "2-12:00:00", "1-6": a time limit as sbatch reads it (a lone number is
/// minutes). Undefined when it is not one.
export function parseLimit(text: string): number | undefined {
  const match = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(text.trim());
  if (!match) return undefined;
  const [days, ...parts] = match.slice(1).map((part) => (part === undefined ? undefined : Number(part)));
  const [a = 0, b, c] = parts;
  if (days !== undefined) return ((days * 24 + a) * 60 + (b ?? 0)) * 60 + (c ?? 0);
  if (c !== undefined) return (a * 60 + (b ?? 0)) * 60 + c;
  return b === undefined ? a * 60 : a * 60 + b;
}

/// "512M", "4G", "4 GiB", "1.5T", "1024" (MiB, as sbatch reads it) -> bytes.
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(text.trim());
  if (!match) return undefined;
  const power = match[2] ? "KMGT".indexOf(match[2].toUpperCase()) + 1 : 2;
  return Math.round(Number(match[1]) * 1024 ** power);
}

/// The way back: what `parseBytes` reads as this number, in the largest unit without a fraction.
export function bytesText(value: number): string {
  for (const [power, unit] of [[4, "T"], [3, "G"], [2, "M"], [1, "K"]] as const) {
    if (value % 1024 ** power === 0) return `${value / 1024 ** power}${unit}`;
  }
  return `${Math.ceil(value / 1024)}K`;
}
