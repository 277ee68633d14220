// One event stream for all tabs of this browser. Under HTTP/1.1 a browser opens six connections to
// an origin: a stream per tab would starve the seventh tab without a word.
//
// The tab that holds the lock reads the stream and tells the others over a channel. When that tab
// closes, the lock passes on, and the next one resumes after the last id that everybody heard.
// Only durable events have an id; samples of hosts do not move the cursor.

import { API } from "./client";
import { readEvents, type ServerEvent } from "./sse";

/// Longest silence of a stream that lives: the server sends samples each second and heartbeats
/// each 15 s; three of them missed.
const SILENCE_MS = 45_000;

/// Waits between attempts grow up to this.
const LONGEST_WAIT_MS = 15_000;

export type Link =
  | { state: "connecting" }
  | { state: "open" }
  | { state: "cut"; since: number; retryAt: number };

export interface Listener {
  event(name: string, data: unknown): void;
  link(link: Link): void;
  signedOut(): void;
}

type Message =
  | { kind: "event"; name: string; id: string | undefined; data: unknown }
  | { kind: "link"; link: Link }
  | { kind: "hello" };

export class Stream {
  private readonly channel = new BroadcastChannel("hpvm-events");
  private readonly stop = new AbortController();
  private lastId: string | undefined;
  private link: Link = { state: "connecting" };
  private leads = false;
  private wake: () => void = () => {};

  constructor(private readonly listener: Listener) {
    this.channel.onmessage = (message: MessageEvent<Message>) => this.hear(message.data);
    this.channel.postMessage({ kind: "hello" } satisfies Message);
    addEventListener("online", this.retry);
    document.addEventListener("visibilitychange", this.retry);
    navigator.locks
      .request("hpvm-events", { signal: this.stop.signal }, () => this.lead())
      .catch(() => {
        // Aborted by `close` while waiting.
      });
  }

  close(): void {
    this.stop.abort();
    removeEventListener("online", this.retry);
    document.removeEventListener("visibilitychange", this.retry);
    this.channel.close();
    this.wake();
  }

  /// Tries at once, if it waits.
  readonly retry = (): void => this.wake();

  private hear(message: Message): void {
    if (message.kind === "event") {
      if (message.id !== undefined) this.lastId = message.id;
      this.listener.event(message.name, message.data);
    } else if (message.kind === "link") {
      this.link = message.link;
      this.listener.link(message.link);
    } else if (this.leads) {
      this.channel.postMessage({ kind: "link", link: this.link } satisfies Message);
    }
  }

  /// To this tab and to the others.
  private tell(message: Message): void {
    if (this.stop.signal.aborted) return;
    this.channel.postMessage(message);
    this.hear(message);
  }

  private async lead(): Promise<void> {
    this.leads = true;
    let failures = 0;
    let cutAt = 0;
    while (!this.stop.signal.aborted) {
      try {
        await this.read(() => {
          failures = 0;
          cutAt = 0;
        });
      } catch {
        // The network's reasons are not told apart: every one ends in another attempt.
      }
      if (this.stop.signal.aborted) return;
      cutAt ||= Date.now();
      const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** failures++);
      this.tell({ kind: "link", link: { state: "cut", since: cutAt, retryAt: Date.now() + wait } });
      await this.pause(wait);
    }
  }

  private async read(opened: () => void): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastId !== undefined) headers["Last-Event-ID"] = this.lastId;
    const init: RequestInit = { headers, cache: "no-store", signal: this.stop.signal };
    const response = await fetch(`${API}/events`, init);
    if (response.status === 401) {
      this.listener.signedOut();
      this.stop.abort();
    }
    if (!response.ok) throw new Error(`${response.status}`);
    opened();
    this.tell({ kind: "link", link: { state: "open" } });
    await readEvents(response, (event) => this.take(event), SILENCE_MS);
  }

  private take(event: ServerEvent): void {
    let data: unknown;
    try {
      data = JSON.parse(event.data);
    } catch {
      return; // Not for this version of the page.
    }
    this.tell({ kind: "event", name: event.name, id: event.id, data });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
