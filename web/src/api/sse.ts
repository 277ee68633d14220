// Server-sent events from a stream of text (WHATWG HTML, section 9.2). `EventSource` would do for
// reading, but it hides status codes and heartbeats, and a new one forgets the last id.

export interface ServerEvent {
  name: string;
  id: string | undefined;
  data: string;
}

/// Feeds pieces of text to `push`, gets whole events. An event that the end cuts off is dropped.
export class EventParser {
  private rest = "";
  private name = "";
  private id: string | undefined;
  private data: string[] = [];

  constructor(private readonly deliver: (event: ServerEvent) => void) {}

  push(piece: string): void {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  private line(line: string): void {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    // A line that begins with a colon is a comment: a heartbeat.
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }

  private dispatch(): void {
    if (this.data.length > 0) {
      this.deliver({ name: this.name || "message", id: this.id, data: this.data.join("\n") });
    }
    this.name = "";
    this.id = undefined;
    this.data = [];
  }
}

/// Reads a response's events until it ends. Rejects when it breaks or is silent for `silence_ms`.
export async function readEvents(
  response: Response,
  deliver: (event: ServerEvent) => void,
  silence_ms: number,
): Promise<void> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser(deliver);
  for (;;) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silent = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("no heartbeat")), silence_ms);
    });
    try {
      const { done, value } = await Promise.race([reader.read(), silent]);
      if (done) return;
      parser.push(value);
    } catch (error) {
      void reader.cancel().catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}
