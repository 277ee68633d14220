// When the page is idle: nothing asked that is not answered, the stream caught up, the last change
// drawn. Browser tests wait for `<html data-idle="true">` and never sleep.

let pending = 0;
let caughtUp = false;
let frame = 0;

/// Work begins; call the result once when it has ended.
export function busy(): () => void {
  pending += 1;
  show();
  let over = false;
  return () => {
    if (over) return;
    over = true;
    pending -= 1;
    show();
  };
}

/// Whether the stream has told everything that was to be told.
export function setCaughtUp(now: boolean): void {
  caughtUp = now;
  show();
}

function show(): void {
  const root = document.documentElement;
  cancelAnimationFrame(frame);
  if (pending > 0 || !caughtUp) {
    root.dataset["idle"] = "false";
    return;
  }
  // Two frames: one in which the change is drawn, one after it.
  frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(() => {
      root.dataset["idle"] = "true";
    });
  });
}
