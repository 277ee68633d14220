// What a tab holds of one stream of a job's output: a window on it that moves, and grows at its end
// while it is followed. Bounded, whatever the output's size (`Window`).

import { signal } from "@preact/signals";
import { follow, PART, readPart, type StreamName } from "../api/output";
import { plain } from "../model/ansi";
import { Window } from "../model/lines";
import { busy } from "./idle";

/// Bytes looked through at once when searching beyond the window.
const SCAN = 1 << 20;

export class Output {
  /// Grows when the window has changed, at most once a frame.
  readonly version = signal(0);
  readonly following = signal(false);
  /// The end is to be in view, whether more comes or not, until someone looks elsewhere. What has ended is
  /// no longer followed when its lines are drawn.
  readonly atEnd = signal(false);
  /// Nothing more will be written.
  readonly ended = signal(false);
  readonly size = signal(0);
  readonly error = signal<unknown>(undefined);
  window = new Window();

  private frame = 0;
  private readonly stop = new AbortController();
  private stopFollowing = new AbortController();
  private paging = false;

  constructor(
    private readonly job: number,
    private readonly stream: StreamName,
    /// Lines went from the window's beginning (negative: came there), so what is in view moves.
    private readonly shift: (lines: number) => void,
  ) {}

  close(): void {
    this.stop.abort();
    this.stopFollowing.abort();
    cancelAnimationFrame(this.frame);
  }

  /// Shows the end and, while the job runs, what comes after it.
  async start(): Promise<void> {
    const done = busy();
    try {
      const part = await readPart(this.job, this.stream, -PART, PART, this.stop.signal);
      this.show(part.bytes, part.offset, part.next, part.size);
      void this.follow();
    } catch (error) {
      this.fail(error);
    } finally {
      done();
    }
  }

  /// Goes to the end, and on there while the job runs.
  async follow(): Promise<void> {
    this.atEnd.value = true;
    if (this.following.value) return;
    this.following.value = true;
    this.stopFollowing = new AbortController();
    const encoder = new TextEncoder();
    const signal = this.stopFollowing.signal;
    try {
      await this.toEnd(signal);
      await follow(this.job, this.stream, this.window.end, (text, next) => {
        this.window.append(encoder.encode(text), next);
        this.size.value = Math.max(this.size.value, next);
        this.touch();
      }, signal);
      if (!signal.aborted) this.ended.value = true;
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    } finally {
      if (this.stopFollowing.signal === signal) this.following.value = false;
    }
  }

  pause(): void {
    this.stopFollowing.abort();
    this.following.value = false;
    this.atEnd.value = false;
  }

  /// A window far from the end would have to run through all between: it jumps.
  private async toEnd(signal: AbortSignal): Promise<void> {
    const tail = await readPart(this.job, this.stream, -PART, PART, signal);
    if (tail.offset > this.window.end) this.show(tail.bytes, tail.offset, tail.next, tail.size);
    this.size.value = tail.size;
  }

  /// Brings the lines before the window.
  earlier(): Promise<void> {
    return this.page(async () => {
      const end = this.window.start;
      const offset = Math.max(0, end - PART);
      if (end === 0) return;
      const window = this.window;
      const part = await readPart(this.job, this.stream, offset, end - offset, this.stop.signal);
      // Meanwhile the window may have jumped elsewhere, or lost its first lines.
      if (this.window === window && window.start === end) this.shift(-window.prepend(part.bytes.subarray(0, end - part.offset)));
    });
  }

  /// Brings the lines behind the window, where it is not followed.
  later(): Promise<void> {
    return this.page(async () => {
      if (this.following.value || this.window.end >= this.size.value) return;
      const window = this.window;
      const end = window.end;
      const part = await readPart(this.job, this.stream, end, PART, this.stop.signal);
      this.size.value = part.size;
      // Meanwhile the window may have jumped elsewhere, or grown by what was followed.
      if (this.window === window && window.end === end) this.shift(window.append(part.bytes, part.next));
    });
  }

  /// Goes to the output's first bytes, whatever else is being brought.
  async toStart(): Promise<void> {
    this.pause();
    try {
      const part = await readPart(this.job, this.stream, 0, PART, this.stop.signal);
      this.show(part.bytes, part.offset, part.next, part.size);
    } catch (error) {
      this.fail(error);
    }
  }

  /// Looks for `text` beyond the window, and moves it there. Says whether it was found.
  async find(text: string, backward: boolean, progress: (at: number) => void, signal: AbortSignal): Promise<boolean> {
    this.pause();
    const wanted = text.toLowerCase();
    let at = backward ? this.window.start : this.window.end;
    // Parts overlap, so that what lies across their border is found.
    const overlap = 4096;
    while (backward ? at > 0 : at < this.size.value) {
      const offset = backward ? Math.max(0, at - SCAN) : at;
      const part = await readPart(this.job, this.stream, offset, backward ? at - offset : SCAN, signal);
      const lines = plain(new TextDecoder().decode(part.bytes)).toLowerCase();
      if (lines.includes(wanted)) {
        this.show(part.bytes, part.offset, part.next, part.size);
        return true;
      }
      if (part.bytes.length === 0) return false;
      progress(part.offset);
      if (backward) at = offset === 0 ? 0 : offset + Math.min(overlap, at - offset - 1);
      else at = part.next >= part.size ? part.size : Math.max(at + 1, part.next - overlap);
    }
    return false;
  }

  private show(bytes: Uint8Array, offset: number, next: number, size: number): void {
    // A part from the middle begins within a line.
    const cut = offset === 0 ? 0 : bytes.indexOf(10) + 1;
    this.window = new Window(offset + cut);
    this.window.append(bytes.subarray(cut), next);
    this.size.value = size;
    this.error.value = undefined;
    this.touch();
  }

  private async page(ask: () => Promise<void>): Promise<void> {
    if (this.paging) return;
    this.paging = true;
    try {
      await ask();
      this.touch();
    } catch (error) {
      this.fail(error);
    } finally {
      this.paging = false;
    }
  }

  private fail(error: unknown): void {
    if (!this.stop.signal.aborted) this.error.value = error;
  }

  private touch(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.version.value += 1;
    });
  }
}
