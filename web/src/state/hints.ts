// Three sentences for the first visit, each gone for ever when closed.

import { stored } from "./stored";

export type Hint = "overview" | "jobs" | "job";

const closed = stored<string>("hints", (text) => text ?? "");

export const shows = (hint: Hint): boolean => !closed.value.split(" ").includes(hint);

export function close(hint: Hint): void {
  closed.value = [...new Set([...closed.value.split(" ").filter(Boolean), hint])].join(" ");
}
