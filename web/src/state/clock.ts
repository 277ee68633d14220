// The present time, once a second, by the server's clock: ages are right where this machine's is not.

import { signal } from "@preact/signals";

let offset = 0;

export const now = signal(Date.now());

/// The server said what time it is.
export function setServerTime(text: string): void {
  const time = Date.parse(text);
  if (Number.isFinite(time)) offset = time - Date.now();
  tick();
}

function tick(): void {
  now.value = Date.now() + offset;
}

export function startClock(): void {
  setInterval(tick, 1000);
}
