// The small things of a server: answers, problems, files.

import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import type { Problem } from "../../src/api/types";

const DIST = fileURLToPath(new URL("../../../dist", import.meta.url));

const TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};

/// The policy of the real server: nothing from elsewhere, nothing inline.
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

export function sendProblem(response: ServerResponse, status: number, detail: string, errors: Problem["errors"] = []): void {
  const problem: Problem = { title: "refused", detail, status, errors };
  response.writeHead(status, { "Content-Type": "application/problem+json" }).end(JSON.stringify(problem));
}

export function sendFile(response: ServerResponse, path: string): void {
  const asked = `${DIST}${path}`;
  const file = path !== "/" && !path.includes("..") && existsSync(asked) ? asked : `${DIST}/index.html`;
  const type = TYPES[file.split(".").pop() ?? ""] ?? "application/octet-stream";
  response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": POLICY, "Cache-Control": "no-store" });
  response.end(readFileSync(file));
}

export async function body(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : undefined;
}
