// A server of the API's document, in memory, for tests of the page. Tests change its state directly.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AuditEntry, Counters, Host, Job, JobSpec, JobSummary, Matrix, Rank, Series, Token, User } from "../../src/api/types";
import { nameOf } from "../../src/model/name";
import { commandLine, host, job as aJob, pending, whole } from "./data";
import { Events } from "./events";
import { body, sendFile, sendJson, sendProblem } from "./http";
import { Written, type Source } from "./output";

/// How much later than its event the answer to a cancel comes.
const ANSWER_LATE_MS = 100;

const USERS: User[] = [
  { name: "me", role: "admin", has_password: true, owner: true },
  { name: "somebody-with-a-long-name@example.org", role: "viewer", has_password: false, owner: false },
];
const TOKEN: Token = { id: 1, user: "me", name: "night build", scopes: ["jobs"], created: "2026-01-01T00:00:00.000Z" };
const CHANGE: AuditEntry = { id: 1, at: "2026-01-01T00:00:00.000Z", user: "me", origin: "127.0.0.1", action: "make token", target: "night build (jobs)" };

export class Mock {
  readonly jobs = new Map<number, JobSummary>();
  readonly specs = new Map<number, JobSpec>();
  readonly output = new Map<number, Source>();
  readonly ranks = new Map<number, Rank[]>();
  /// What is missing from them.
  readonly notes = new Map<number, string[]>();
  readonly counters = new Map<number, Counters>();
  readonly matrices = new Map<number, Matrix>();
  /// Pages of evaluations.
  readonly reports = new Map<number, string>();
  hosts: Host[] = [host("n1")];
  readonly events = new Events(() => ({ jobs: [...this.jobs.values()], hosts: this.hosts }));
  /// Each request as "POST /api/v1/jobs".
  readonly requests: string[] = [];
  /// Idempotency keys, and the job that each made.
  readonly keys = new Map<string, number>();
  /// The answer to the next submission is lost after it has had its effect.
  loseAnswer = false;
  /// Submissions wait for this.
  gate: Promise<void> = Promise.resolve();
  /// Parts of outputs wait for this.
  outputGate: Promise<void> = Promise.resolve();
  signedIn = true;
  private nextId = 1;
  private server!: Server;
  origin = "";

  static async start(): Promise<Mock> {
    const mock = new Mock();
    mock.server = createServer((request, response) => void mock.handle(request, response));
    await new Promise<void>((resolve) => mock.server.listen(0, "127.0.0.1", resolve));
    mock.origin = `http://127.0.0.1:${(mock.server.address() as AddressInfo).port}`;
    return mock;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /// Adds jobs that were there before anybody looked.
  add(...jobs: JobSummary[]): void {
    for (const each of jobs) {
      this.jobs.set(each.id, each);
      this.nextId = Math.max(this.nextId, each.id + 1);
    }
  }

  /// A job is new or has changed, and everybody hears of it.
  put(job: JobSummary): void {
    this.add(job);
    this.events.tell("job", job);
  }

  written(id: number): Written {
    const source = this.output.get(id) ?? new Written();
    this.output.set(id, source);
    if (!(source instanceof Written)) throw new Error("not written");
    return source;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.origin);
    if (!url.pathname.startsWith("/api/v1/")) return sendFile(response, url.pathname);
    const path = url.pathname.slice("/api/v1".length);
    this.requests.push(`${request.method} ${path}`);
    if (path === "/session") return this.session(request, response);
    if (!this.signedIn) return sendProblem(response, 401, "Sign in first.");
    const [, room, name, part, rest] = path.split("/");
    if (room === "events") return this.events.accept(request, response);
    if (room === "info") return this.info(response);
    if (room === "queues") return sendJson(response, 200, { queues: [{ name: "main", hosts: ["n1"], pending: 0, running: 0 }] });
    if (room === "hosts") return this.hostRoom(response, name, url);
    if (room === "jobs" && name === undefined) {
      return request.method === "POST" ? this.submit(request, response, url) : this.list(response, url);
    }
    if (room === "jobs") return this.job(request, response, this.number(name ?? ""), [part, rest], url);
    if (room === "users") return sendJson(response, 200, { users: USERS });
    if (room === "tokens") return sendJson(response, 200, { tokens: [TOKEN] });
    if (room === "audit") return sendJson(response, 200, { entries: [CHANGE], next_before: 1 });
    sendProblem(response, 404, `There is nothing at ${path}.`);
  }

  private async session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const who = { user: "me", roles: ["admin"] };
    if (request.method === "GET") {
      return this.signedIn ? sendJson(response, 200, who) : sendProblem(response, 401, "Nobody is signed in.");
    }
    if (request.method === "DELETE") {
      this.signedIn = false;
      response.writeHead(204).end();
      return;
    }
    const asked = (await body(request)) as { link?: string; user?: string; password?: string };
    if (asked.link === "good" || (asked.user === "me" && asked.password === "right")) {
      this.signedIn = true;
      return sendJson(response, 200, who);
    }
    sendProblem(response, 401, asked.link ? "This link was used already." : "Unknown user or wrong password.");
  }

  private info(response: ServerResponse): void {
    const limits = { script_bytes: 1 << 20, array_tasks: 1000, active_jobs: 10_000, output_chunk_bytes: 1 << 20, page: 1000 };
    sendJson(response, 200, { version: "0.1.0", mode: "embedded", program: "/opt/hp vm/bin/hpvm", limits, time: new Date().toISOString(), problems: [] });
  }

  private hostRoom(response: ServerResponse, name: string | undefined, url: URL): void {
    if (name === undefined) return sendJson(response, 200, { hosts: this.hosts });
    const step_ms = url.searchParams.get("range") === "day" ? 30_000 : 1000;
    const wave = (scale: number) => Array.from({ length: 600 }, (_, i) => (i > 200 && i < 240 ? null : scale * (0.5 + 0.4 * Math.sin(i / 40))));
    const series: Series = {
      start_ms: Date.now() - 600 * step_ms,
      step_ms,
      cpu: wave(1),
      memory: wave(0.6),
      received: wave(4e6),
      sent: wave(1e6),
      read: wave(1e5),
      written: wave(9e5),
    };
    sendJson(response, 200, series);
  }

  private list(response: ServerResponse, url: URL): void {
    const limit = Number(url.searchParams.get("limit") ?? 100);
    const before = Number(url.searchParams.get("page_token") ?? Infinity);
    const all = [...this.jobs.values()].filter((each) => each.id < before).sort((a, b) => b.id - a.id);
    const jobs = all.slice(0, limit);
    const last = jobs.at(-1);
    sendJson(response, 200, { jobs, ...(all.length > limit && last ? { next_page_token: String(last.id) } : {}) });
  }

  private async submit(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const spec = (await body(request)) as JobSpec;
    const errors = [];
    if (spec.script == null && (spec.command ?? []).length === 0) errors.push({ field: "command", detail: "Expected a program." });
    if ((spec.ranks ?? 1) > 64) errors.push({ field: "ranks", detail: `Expected at most 64 ranks, found ${spec.ranks}.` });
    if (errors.length > 0) return sendProblem(response, 422, "This is not a job.", errors);
    if (url.searchParams.get("validate")) return sendJson(response, 200, { command_line: commandLine(spec) });
    await this.gate;
    const key = String(request.headers["idempotency-key"] ?? "");
    const id = this.keys.get(key) ?? this.nextId;
    this.keys.set(key, id);
    if (!this.jobs.has(id)) {
      this.specs.set(id, spec);
      const make = spec.hold ? pending : aJob;
      this.put(make(id, { name: spec.name ?? spec.command?.[0] ?? "script", ranks: spec.ranks ?? 1 }));
    }
    if (this.loseAnswer) {
      this.loseAnswer = false;
      // Begun and broken off: of a connection that closes without a word the browser asks again itself.
      response.writeHead(201, { "Content-Length": 1000 });
      response.write("{", () => response.destroy());
      return;
    }
    sendJson(response, 201, this.whole(id));
  }

  /// The number of the job that a name means; 0 for none.
  private number(name: string): number {
    if (!name.includes("_")) return Number(name);
    return [...this.jobs.values()].find((each) => nameOf(each) === name)?.id ?? 0;
  }

  private whole(id: number): Job {
    const stdout = this.output.get(id)?.size ?? 0;
    const summary = this.jobs.get(id);
    if (!summary) throw new Error(`no job ${id}`);
    return whole(summary, this.specs.get(id) ?? { command: ["./poisson", "256"], ranks: summary.ranks }, { stdout, stderr: 0 });
  }

  private job(request: IncomingMessage, response: ServerResponse, id: number, path: (string | undefined)[], url: URL): void {
    const summary = this.jobs.get(id);
    if (!summary) return sendProblem(response, 404, `There is no job ${id}.`);
    const [part, rest] = path;
    if (request.method === "DELETE") {
      this.jobs.delete(id);
      this.events.tell("job-removed", { id });
      response.writeHead(204).end();
      return;
    }
    if (part === undefined) return sendJson(response, 200, this.whole(id));
    if (part === "cancel" || part === "hold" || part === "release") return this.act(response, summary, part, url.searchParams.get("array") === "true");
    if (part === "output" && rest === "follow") return this.follow(response, summary, url);
    if (part === "output") return void this.part(response, id, url);
    if (part === "report") return this.report(response, id, url);
    if (part === "ranks") return sendJson(response, 200, { ranks: this.ranks.get(id) ?? [], notes: this.notes.get(id) ?? [] });
    if (part === "matrix" && this.matrices.has(id)) return sendJson(response, 200, this.matrices.get(id));
    if (part === "counters") return sendJson(response, 200, this.counters.get(id) ?? { elapsed_seconds: 0, events: [], ranks: [], notes: [] });
    if (part === "matrix") return sendProblem(response, 501, "This job does not count who talks to whom.");
    sendProblem(response, 404, `There is nothing at ${url.pathname}.`);
  }

  /// With the server's policy for it.
  private report(response: ServerResponse, id: number, url: URL): void {
    const page = this.reports.get(id);
    if (page === undefined) return sendProblem(response, 404, `job ${id} has written no report`);
    response.writeHead(200, {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
      ...(url.searchParams.get("download") ? { "Content-Disposition": `attachment; filename="report-${id}.html"` } : {}),
    });
    response.end(page);
  }

  private act(response: ServerResponse, summary: JobSummary, what: "cancel" | "hold" | "release", whole: boolean): void {
    // Of a cancel the answer says that it was asked for; the end is told by an event, which may be faster.
    const answer = { ...this.whole(summary.id), cancelling: summary.state !== "ended" };
    const tasks = [...this.jobs.values()].filter((each) => each.array?.id === summary.id && each.state !== "ended");
    for (const each of whole ? tasks : [summary]) {
      const { outcome: _, reason: __, ...rest } = each;
      this.put(
        what === "cancel"
          ? { ...rest, state: "ended", outcome: { kind: "cancelled" }, ended: new Date().toISOString() }
          : { ...rest, state: what === "hold" ? "held" : "pending", reason: what === "hold" ? "It is held." : "Waits." },
      );
    }
    if (what === "cancel") setTimeout(() => sendJson(response, 200, answer), ANSWER_LATE_MS);
    else sendJson(response, 200, this.whole(summary.id));
  }

  private async part(response: ServerResponse, id: number, url: URL): Promise<void> {
    await this.outputGate;
    const source = this.output.get(id) ?? new Written();
    const number = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise);
    const asked = number("offset", 0);
    const from = Math.min(source.size, asked < 0 ? Math.max(0, source.size + asked) : asked);
    const to = url.searchParams.get("download") ? source.size : Math.min(source.size, from + Math.min(number("limit", 1 << 20), 1 << 20));
    response.writeHead(200, {
      "Content-Type": "text/plain",
      "X-Offset": from,
      "X-Offset-Next": to,
      "X-Size": source.size,
      ...(url.searchParams.get("download") ? { "Content-Disposition": `attachment; filename="job-${id}.out"` } : {}),
    });
    response.end(source.read(from, to));
  }

  private follow(response: ServerResponse, summary: JobSummary, url: URL): void {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.flushHeaders();
    const source = this.output.get(summary.id) ?? this.written(summary.id);
    if (source instanceof Written) source.follow(response, Number(url.searchParams.get("offset") ?? 0), summary.state === "ended");
    else response.end("event: end\ndata: {}\n\n");
  }
}
