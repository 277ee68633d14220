// Dark or light: the system's, unless the switch says otherwise.

import { computed, effect, signal } from "@preact/signals";
import { stored } from "./stored";

export type Theme = "system" | "dark" | "light";

export const theme = stored<Theme>("theme", (text) => (text === "dark" || text === "light" ? text : "system"));

const query = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(query.matches);
query.addEventListener("change", (event) => (systemDark.value = event.matches));

/// What is shown. Canvases read it, so that they are drawn again when it changes.
export const dark = computed(() => (theme.value === "system" ? systemDark.value : theme.value === "dark"));

const motion = matchMedia("(prefers-reduced-motion: reduce)");
export const calm = signal(motion.matches);
motion.addEventListener("change", (event) => (calm.value = event.matches));

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  });
}

export function nextTheme(): void {
  theme.value = theme.value === "system" ? (dark.value ? "light" : "dark") : "system";
}

/// A colour of the style sheet, for a canvas.
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
