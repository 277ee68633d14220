// Requests to the API. Every answer that is not a success becomes a `Refused` with the server's words.

import { busy } from "../state/idle";
import type { Problem } from "./types";

export const API = "/api/v1";

/// The server answered, and said no.
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
  }

  get status(): number {
    return this.problem.status;
  }

  /// What it said about one field of a form.
  field(name: string): string | undefined {
    return this.problem.errors?.find((error) => error.field === name)?.detail;
  }
}

/// Nobody answered.
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

export interface Request {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/// Told once when any answer says that the session has ended.
let onSignedOut: () => void = () => {};
export function whenSignedOut(call: () => void): void {
  onSignedOut = call;
}

export async function request(path: string, options: Request = {}): Promise<Response> {
  const init: RequestInit = {
    method: options.method ?? "GET",
    headers: { Accept: "application/json", ...options.headers },
    credentials: "same-origin",
    cache: "no-store",
    signal: options.signal ?? null,
  };
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body);
    init.headers = { ...init.headers, "Content-Type": "application/json" };
  }
  const done = busy();
  try {
    const response = await fetch(API + path, init).catch((error: unknown) => {
      if (options.signal?.aborted) throw error;
      throw new Unreachable();
    });
    if (!response.ok) throw await refusal(response, path);
    return response;
  } finally {
    done();
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return read<T>(await request(path, signal ? { signal } : {}), signal);
}

export async function post<T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const options: Request = { method: "POST" };
  if (body !== undefined) options.body = body;
  if (headers) options.headers = headers;
  return read<T>(await request(path, options));
}

/// The answer's body, which may break off.
async function read<T>(response: Response, signal?: AbortSignal): Promise<T> {
  const done = busy();
  try {
    return (await response.json()) as T;
  } catch (error) {
    throw signal?.aborted ? error : new Unreachable();
  } finally {
    done();
  }
}

async function refusal(response: Response, path: string): Promise<Refused> {
  if (response.status === 401 && path !== "/session") onSignedOut();
  const fallback: Problem = {
    title: "error",
    detail: `The server answered ${response.status} ${response.statusText}`.trim(),
    status: response.status,
  };
  try {
    const said = (await response.json()) as Partial<Problem>;
    return new Refused({ ...fallback, ...said, status: response.status });
  } catch {
    return new Refused(fallback);
  }
}

/// A key that makes a request which is sent again the same one.
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/// A sentence for a person, whatever was thrown.
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
