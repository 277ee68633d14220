// Who is signed in.

import { signal } from "@preact/signals";
import { get, post, Refused, request, sentence, whenSignedOut } from "../api/client";
import type { Session } from "../api/types";
import { setCaughtUp } from "./idle";
import * as live from "./live";

/// Undefined until the server has said; null when nobody is signed in.
export const session = signal<Session | null | undefined>(undefined);

export function isAdmin(): boolean {
  return session.value?.roles.includes("admin") ?? false;
}

/// Why there is no session, for the page that asks for one.
export const reason = signal("");

/// Signing out in one tab is signing out in all.
const channel = new BroadcastChannel("hpvm-session");

export async function startSession(): Promise<void> {
  whenSignedOut(ended);
  channel.onmessage = () => ended();
  const link = takeLink();
  try {
    signedIn(link ? await post<Session>("/session", { link }) : await get<Session>("/session"));
  } catch (error) {
    // Who has not signed in yet needs no reason; who followed a link does.
    const plain = error instanceof Refused && error.status === 401 && !link;
    reason.value = plain ? "" : sentence(error);
    signedOut();
  }
}

/// The one-time link's token, which then leaves the address, so that nobody reads it there.
function takeLink(): string | undefined {
  const link = /^#link=([^&]+)$/.exec(location.hash)?.[1];
  if (link) history.replaceState(null, "", location.pathname + location.search);
  return link;
}

export async function signIn(credentials: { user: string; password: string } | { link: string }): Promise<void> {
  signedIn(await post<Session>("/session", credentials));
}

export async function signOut(): Promise<void> {
  await request("/session", { method: "DELETE" });
  channel.postMessage("ended");
  reason.value = "You have signed out.";
  signedOut();
}

function signedIn(who: Session): void {
  session.value = who;
  reason.value = "";
  live.start(ended);
}

function ended(): void {
  if (!session.value) return;
  reason.value = "The session has ended. Sign in again; you come back to this address.";
  signedOut();
}

function signedOut(): void {
  session.value = null;
  live.stop();
  setCaughtUp(true);
}
