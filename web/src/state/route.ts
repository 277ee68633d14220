// The address is the state of the page: every list, job, host and rank has one of its own.

import { computed, signal } from "@preact/signals";
import { JOB_NAME } from "../model/name";

export const JOB_TABS = ["output", "ranks", "counters", "timeline", "files", "script"] as const;
export type JobTab = (typeof JOB_TABS)[number];

export type Route =
  | { page: "overview" }
  | { page: "jobs" }
  | { page: "job"; id: string; tab: JobTab }
  | { page: "submit" }
  | { page: "hosts" }
  | { page: "host"; name: string }
  | { page: "reports" }
  | { page: "report"; id: string }
  | { page: "comparison" }
  | { page: "account" }
  | { page: "administration" }
  | { page: "nothing"; path: string };

export const address = signal(new URL(location.href));
export const route = computed(() => parse(address.value.pathname));

export function parse(path: string): Route {
  const [first = "", second, third] = path.split("/").filter(Boolean);
  const tab = (JOB_TABS as readonly string[]).includes(third ?? "output");
  if (first === "") return { page: "overview" };
  if (first === "jobs" && second === undefined) return { page: "jobs" };
  if (first === "jobs" && JOB_NAME.test(second ?? "") && tab) {
    return { page: "job", id: second ?? "", tab: (third ?? "output") as JobTab };
  }
  if (first === "submit" && second === undefined) return { page: "submit" };
  if (first === "hosts" && second === undefined) return { page: "hosts" };
  if (first === "hosts" && third === undefined) return { page: "host", name: decode(second ?? "") };
  if (first === "reports" && second === undefined) return { page: "reports" };
  if (first === "reports" && second === "compare" && third === undefined) return { page: "comparison" };
  if (first === "reports" && JOB_NAME.test(second ?? "") && third === undefined) return { page: "report", id: second ?? "" };
  if (first === "account" && second === undefined) return { page: "account" };
  if (first === "administration" && second === undefined) return { page: "administration" };
  return { page: "nothing", path };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const jobPath = (id: number | string, tab?: JobTab): string => `/jobs/${id}${tab ? `/${tab}` : ""}`;
export const reportPath = (name: number | string): string => `/reports/${name}`;
export const hostPath = (name: string): string => `/hosts/${encodeURIComponent(name)}`;

/// Goes to another address. With `replace` the present one is not kept for "back".
export function go(to: string, replace = false): void {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  const samePage = url.pathname === location.pathname;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  address.value = url;
  if (!samePage) scrollTo(0, 0);
}

/// Changes one parameter of the address without a new entry for "back".
export function setParameter(name: string, value: string | undefined): void {
  const url = new URL(location.href);
  if (value) url.searchParams.set(name, value);
  else url.searchParams.delete(name);
  go(url.href, true);
}

/// The present address with another value of a parameter.
export function withParameter(name: string, value: string): string {
  const url = new URL(address.value);
  url.searchParams.set(name, value);
  return `${url.pathname}${url.search}`;
}

/// The rank that the address names.
export function askedRank(): number | undefined {
  const text = address.value.searchParams.get("rank") ?? "";
  return /^\d{1,7}$/.test(text) ? Number(text) : undefined;
}

/// Follows links to this origin without loading the page again.
export function watchLinks(): void {
  addEventListener("popstate", () => {
    address.value = new URL(location.href);
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a");
    if (!link || link.target || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    go(link.href);
  });
}
