// A job's output: parts of it, and what is written from now on.

import { API, Refused, request } from "./client";
import { readEvents } from "./sse";

export type StreamName = "stdout" | "stderr";

export interface Part {
  bytes: Uint8Array;
  /// Of its first byte.
  offset: number;
  /// Where to go on.
  next: number;
  /// Of all output so far.
  size: number;
}

/// Most bytes asked for at once; the server gives a MiB at most.
export const PART = 256 << 10;

/// A follower that hears nothing for so long is cut off (three heartbeats).
const SILENCE_MS = 45_000;

export async function readPart(
  job: number,
  stream: StreamName,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<Part> {
  const params = new URLSearchParams({ stream, offset: String(offset), limit: String(limit) });
  const response = await request(`/jobs/${job}/output?${params}`, { signal, headers: { Accept: "text/plain" } });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const number = (name: string, otherwise: number) => Number(response.headers.get(name) ?? otherwise);
  const next = number("X-Offset-Next", Math.max(0, offset) + bytes.length);
  return { bytes, offset: number("X-Offset", next - bytes.length), next, size: number("X-Size", next) };
}

export const downloadPath = (job: number, stream: StreamName): string =>
  `${API}/jobs/${job}/output?stream=${stream}&download=1`;

/// Tells what is written after `offset`, until the job has ended. Goes on by itself after a cut.
export async function follow(
  job: number,
  stream: StreamName,
  offset: number,
  take: (text: string, next: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let at = offset;
  let ended = false;
  for (let failures = 0; !ended && !signal.aborted; failures += 1) {
    try {
      const params = new URLSearchParams({ stream, offset: String(at) });
      const headers = { Accept: "text/event-stream" };
      const response = await fetch(`${API}/jobs/${job}/output/follow?${params}`, { headers, signal, cache: "no-store" });
      if (response.status >= 400 && response.status < 500) {
        throw new Refused({ title: "The output cannot be followed", detail: `the server answered ${response.status}`, status: response.status });
      }
      if (!response.ok) throw new Error(String(response.status));
      await readEvents(
        response,
        (event) => {
          failures = 0;
          if (event.name === "end") ended = true;
          if (event.name !== "output") return;
          at = event.id === undefined ? at : Number(event.id);
          take(JSON.parse(event.data) as string, at);
        },
        SILENCE_MS,
      );
    } catch (error) {
      if (error instanceof Refused || signal.aborted) throw error;
    }
    if (!ended && !signal.aborted) await pause(Math.min(10_000, 250 * 2 ** failures), signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
