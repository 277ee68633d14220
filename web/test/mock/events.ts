// The event stream as the document has it: snapshot, caught-up, live; durable events have ids.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Host, JobSummary, Snapshot } from "../../src/api/types";

interface Event {
  id: number | undefined;
  name: string;
  data: unknown;
}

export class Events {
  /// What each opened stream asked to resume after.
  readonly resumed: (string | undefined)[] = [];
  private readonly log: Event[] = [];
  private readonly open = new Set<ServerResponse>();
  /// New streams are refused, as when the server is down.
  down = false;

  constructor(private readonly state: () => { jobs: JobSummary[]; hosts: Host[] }) {}

  get streams(): number {
    return this.open.size;
  }

  accept(request: IncomingMessage, response: ServerResponse): void {
    if (this.down) {
      response.destroy();
      return;
    }
    const after = request.headers["last-event-id"] as string | undefined;
    this.resumed.push(after);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    if (after === undefined) {
      const snapshot: Snapshot = { ...this.state(), truncated: false, cursor: this.log.length };
      this.write(response, { id: undefined, name: "snapshot", data: snapshot });
    } else {
      for (const event of this.log) if ((event.id ?? 0) > Number(after)) this.write(response, event);
    }
    this.write(response, { id: undefined, name: "caught-up", data: { cursor: this.log.length } });
    this.open.add(response);
    response.on("close", () => this.open.delete(response));
  }

  /// Something that is told even to who was away.
  tell(name: "job" | "job-removed", data: unknown): void {
    const event = { id: this.log.length + 1, name, data };
    this.log.push(event);
    for (const stream of this.open) this.write(stream, event);
  }

  sample(host: Host): void {
    for (const stream of this.open) this.write(stream, { id: undefined, name: "host", data: host });
  }

  problems(problems: string[]): void {
    for (const stream of this.open) this.write(stream, { id: undefined, name: "problems", data: { problems } });
  }

  /// The network goes: streams break, and new ones are refused until `restore`.
  cut(): void {
    this.down = true;
    for (const stream of this.open) stream.destroy();
  }

  restore(): void {
    this.down = false;
  }

  private write(stream: ServerResponse, event: Event): void {
    const id = event.id === undefined ? "" : `id: ${event.id}\n`;
    stream.write(`${id}event: ${event.name}\ndata: ${JSON.stringify(event.data)}\n\n`);
  }
}
