// What surrounds every page: navigation, search, theme, who is signed in, keys, the link's state.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys/keys";
import { now } from "../state/clock";
import { info, link, retry } from "../state/live";
import { address, go, route, type Route } from "../state/route";
import { isAdmin, session, signOut } from "../state/session";
import { nextTheme, theme } from "../state/theme";
import { JOB_NAME } from "../model/name";
import { relative } from "../model/units";
import { KeysPanel } from "./KeysPanel";

const PLACES: { page: Route["page"]; also?: Route["page"][]; path: string; name: string; keys: string }[] = [
  { page: "overview", path: "/", name: "Overview", keys: "g o" },
  { page: "jobs", also: ["job"], path: "/jobs", name: "Jobs", keys: "g j" },
  { page: "submit", path: "/submit", name: "Submit", keys: "g s" },
  { page: "hosts", also: ["host"], path: "/hosts", name: "Hosts", keys: "g h" },
  { page: "reports", also: ["report", "comparison"], path: "/reports", name: "Reports", keys: "g r" },
];

const ADMINISTRATION: (typeof PLACES)[number] = {
  page: "administration",
  path: "/administration",
  name: "Administration",
  keys: "g a",
};

export function Shell({ children }: { children: ComponentChildren }) {
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const places = isAdmin() ? [...PLACES, ADMINISTRATION] : PLACES;
  useKeys("Everywhere", [
    ...places.map((place) => ({ keys: place.keys, does: `go to ${place.name}`, run: () => go(place.path) })),
    { keys: "/", does: "search jobs", run: focusSearch },
    { keys: "t", does: "theme: system, dark, light", run: nextTheme },
    { keys: "?", does: "show or hide these keys", run: () => setHelp((shown) => !shown) },
  ]);
  usePageFocus(main);
  const stale = link.value.state === "cut";
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <header class="shell">
        <a class="brand" href="/" aria-label="hpvm, overview">
          <Mark /> hpvm
        </a>
        <nav aria-label="Pages">
          {places.map((place) => (
            <a href={place.path} aria-current={current(place) ? "page" : undefined}>
              {place.name}
            </a>
          ))}
        </nav>
        <Search />
        <div class="user">
          <button type="button" class="quiet" onClick={nextTheme} title="Theme (t)">
            <HalfMoon /> {theme.value === "system" ? "auto" : theme.value}
            <span class="hidden"> theme</span>
          </button>
          <a class="who" href="/account" title="Your account">
            {session.value?.user}
          </a>
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
          <button
            type="button"
            class="quiet"
            aria-label="Keys"
            aria-expanded={help}
            title="Keys (?)"
            onClick={() => setHelp(!help)}
          >
            ?
          </button>
        </div>
      </header>
      <Banner />
      {info.value?.problems.map((problem) => <p class="banner bad" role="status">{problem}</p>)}
      <main id="main" ref={main} tabIndex={-1} class={stale ? "stale" : ""}>
        {children}
      </main>
      {help && <KeysPanel close={() => setHelp(false)} />}
    </>
  );
}

function current(place: (typeof PLACES)[number]): boolean {
  return route.value.page === place.page || (place.also ?? []).includes(route.value.page);
}

/// On another page a reader begins at its top, and a screen reader says its name.
function usePageFocus(main: { current: HTMLElement | null }): void {
  const page = route.value.page;
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [page]);
}

function focusSearch(): void {
  document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
}

/// Leads to the list of jobs; on that page its filter line is the search.
function Search() {
  if (route.value.page === "jobs") return <span class="search" />;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("q") ?? "").trim();
    if (JOB_NAME.test(text)) go(`/jobs/${text}`);
    else go(`/jobs?filter=${encodeURIComponent(text)}`);
  };
  return (
    <form class="search" role="search" onSubmit={submit}>
      <input type="search" name="q" aria-label="Search jobs" placeholder="/ search jobs" key={address.value.pathname} />
    </form>
  );
}

/// The connection is cut: since when, and when it is tried again.
function Banner() {
  const state = link.value;
  if (state.state !== "cut") return null;
  return (
    <p class="banner" role="alert">
      The connection to the server is lost. What you see is from{" "}
      <time dateTime={new Date(state.since).toISOString()}>{relative(state.since, Math.max(now.value, state.since))}</time>; it
      goes on by itself.{" "}
      <button type="button" onClick={retry}>
        Try now
      </button>
    </p>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2 14V8h3v6zm4.5 0V2h3v12zM11 14V5h3v9z" />
    </svg>
  );
}

function HalfMoon() {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm0 2v10A5 5 0 0 1 8 3z" />
    </svg>
  );
}
