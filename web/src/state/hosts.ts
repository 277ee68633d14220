// The hosts and the last minute of their samples.

import { signal } from "@preact/signals";
import { get } from "../api/client";
import type { Host } from "../api/types";

/// Samples kept per host for sparklines: a minute.
export const RECENT = 60;

/// Without a sample for so long a host's numbers are old, whatever its state says.
const OLD_MS = 5000;

export const version = signal(0);
export const loaded = signal(false);

const hosts = new Map<string, Host>();
const recent = new Map<string, number[]>();
let frame = 0;

export function host(name: string): Host | undefined {
  return hosts.get(name);
}

export function allHosts(): Host[] {
  return [...hosts.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

export function put(next: Host): void {
  const former = hosts.get(next.name);
  // An event may tell the state alone.
  hosts.set(next.name, next.sample || !former?.sample ? next : { ...next, sample: former.sample });
  const cpu = next.sample?.cpu?.total;
  if (cpu && next.sample?.at_ms !== former?.sample?.at_ms) {
    const list = recent.get(next.name) ?? [];
    list.push(cpu.user + cpu.system);
    if (list.length > RECENT) list.shift();
    recent.set(next.name, list);
  }
  touch();
}

export function reset(list: readonly Host[]): void {
  const names = new Set(list.map((each) => each.name));
  for (const name of hosts.keys()) if (!names.has(name)) hosts.delete(name);
  list.forEach(put);
  loaded.value = true;
}

export async function loadHosts(): Promise<void> {
  reset((await get<{ hosts: Host[] }>("/hosts")).hosts);
}

/// Mean use of the processors of some hosts in the last minute, oldest first.
export function recentUse(names: readonly string[]): number[] {
  const lists = names.map((name) => recent.get(name) ?? []).filter((list) => list.length > 0);
  const length = Math.min(...lists.map((list) => list.length), RECENT);
  if (lists.length === 0) return [];
  return Array.from({ length }, (_, i) => {
    const values = lists.map((list) => list[list.length - length + i] ?? 0);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  });
}

/// Whether what is shown of a host is old.
export function isOld(each: Host, now: number): boolean {
  return each.state === "lost" || now - Date.parse(each.last_seen) > OLD_MS;
}

function touch(): void {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    version.value += 1;
  });
}
