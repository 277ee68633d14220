// What a job has written: bytes that tests add, or a file of any size that is made as it is read.

import type { ServerResponse } from "node:http";

export interface Source {
  readonly size: number;
  read(from: number, to: number): Buffer;
}

/// Lines of 64 bytes, each with its number: a file without memory.
export class Numbered implements Source {
  constructor(readonly size: number) {}

  read(from: number, to: number): Buffer {
    const first = Math.floor(from / 64);
    const last = Math.ceil(to / 64);
    const lines = Array.from({ length: last - first }, (_, i) => `line ${first + i} `.padEnd(63, ".") + "\n");
    return Buffer.from(lines.join("")).subarray(from - first * 64, to - first * 64);
  }
}

export class Written implements Source {
  private bytes = Buffer.alloc(0);
  private readonly followers = new Set<ServerResponse>();

  get size(): number {
    return this.bytes.length;
  }

  read(from: number, to: number): Buffer {
    return this.bytes.subarray(from, to);
  }

  write(text: string): void {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(text)]);
    for (const follower of this.followers) this.tell(follower, text);
  }

  end(): void {
    for (const follower of this.followers) follower.end("event: end\ndata: {}\n\n");
  }

  follow(response: ServerResponse, offset: number, ended: boolean): void {
    if (offset < this.size) this.tell(response, this.bytes.subarray(offset).toString());
    if (ended) response.end("event: end\ndata: {}\n\n");
    else this.followers.add(response);
    response.on("close", () => this.followers.delete(response));
  }

  private tell(response: ServerResponse, text: string): void {
    response.write(`id: ${this.size}\nevent: output\ndata: ${JSON.stringify(text)}\n\n`);
  }
}
