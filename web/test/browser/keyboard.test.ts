// A whole visit by the keyboard alone, on a real server: each stop of the focus is seen, and comes in the order of the page.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { becomes, idle, sequence } from "./harness";
import { realTest } from "./real";

/// Where the focus is, and what is wrong with that.
interface Stop {
  name: string;
  faults: string[];
}

/// Looks at what has the focus. Before each `Tab` what had it is kept in the page, to see which comes first there.
function look(page: Page, back: boolean): Promise<Stop> {
  return page.evaluate((back) => {
    const kept = globalThis as { before?: Element | null };
    const element = document.activeElement as HTMLElement;
    const labels = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement ? element.labels : null;
    const name = (element.getAttribute("aria-label") ?? labels?.[0]?.innerText ?? element.innerText ?? "").trim().split("\n")[0] ?? "";
    const faults: string[] = [];
    if (element === document.body) return { name: "", faults };
    const outline = [element, element.closest(".file")].some((each) => each && getComputedStyle(each).outlineStyle === "solid");
    if (!outline) faults.push("nothing shows that it has the focus");
    const box = element.getBoundingClientRect();
    if (box.bottom <= 0 || box.right <= 0 || box.top >= innerHeight || box.left >= innerWidth) faults.push("it is not in view");
    if (element.tabIndex > 0) faults.push("it has an order of its own");
    const order = kept.before?.isConnected ? kept.before.compareDocumentPosition(element) : 0;
    const wrong = back ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
    if (order & wrong && !(order & (Node.DOCUMENT_POSITION_CONTAINS | Node.DOCUMENT_POSITION_CONTAINED_BY))) faults.push("it comes out of order");
    return { name, faults };
  }, back);
}

/// Presses Tab until what has this name has the focus. The page may be passed once from its end to its beginning.
async function tabTo(page: Page, wanted: string, back = false): Promise<void> {
  const passed: string[] = [];
  for (let tries = 0; tries < 80; tries++) {
    await page.evaluate(() => ((globalThis as { before?: Element | null }).before = document.activeElement === document.body ? null : document.activeElement));
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
    const { name, faults } = await look(page, back);
    assert.deepEqual(faults, [], `"${name}" after ${passed.at(-1) ?? "the beginning"}`);
    if (name === wanted) return;
    passed.push(name);
  }
  throw new Error(`Tab does not come to "${wanted}", but to ${passed.join(", ")}`);
}

const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName || "");

realTest("real: a visit by the keyboard alone, from the link to signing out", async ({ page }, real) => {
  await page.evaluate(() => {
    const counted = globalThis as { pointed?: number };
    counted.pointed = 0;
    addEventListener("pointerdown", () => counted.pointed!++, true);
  });
  // The first stop leads past what is on every page.
  await tabTo(page, "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "main");
  // Back, to the navigation.
  await tabTo(page, "Submit", true);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Submit a job" }).waitFor();
  await becomes(page, () => focused(page), (id) => id === "main");
  await tabTo(page, "Program and arguments");
  const gate = join(real.folder, "gate");
  await page.keyboard.type(`sh -c 'echo begun; until [ -e ${gate} ]; do sleep 0.1; done; echo more; exec sleep 1000'`);
  await tabTo(page, "Ranks");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("none");
  await tabTo(page, "More: name, files, dependencies, array, environment");
  await page.keyboard.press("Space");
  await tabTo(page, "Name");
  await page.keyboard.type("by-keys");
  await tabTo(page, "Hold it until released");
  await page.keyboard.press("Space");
  await page.keyboard.press("Space");
  await tabTo(page, "Submit");
  await page.keyboard.press("Enter");
  // What is wrong has the focus, and the reader hears why.
  await becomes(page, () => focused(page), (id) => id === "field-ranks");
  await page.locator("#field-ranks-said").waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("1");
  await page.getByRole("region", { name: "The same on the command line" }).getByText("-J by-keys").waitFor();
  // A form is sent from any of its fields.
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Job 1 by-keys" }).waitFor();
  await becomes(page, () => focused(page), (id) => id === "main");
  await page.getByText("begun", { exact: true }).waitFor();
  writeFileSync(gate, "");
  await page.getByText("more", { exact: true }).waitFor();
  // The tabs are one stop; arrows move in them.
  await tabTo(page, "Output");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Ranks", selected: true }).waitFor();
  assert.equal(await focused(page), "tab-ranks");
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("tab", { name: "Output", selected: true }).waitFor();
  await tabTo(page, "Following");
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Follow", exact: true }).waitFor();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Following" }).waitFor();
  // Cancelled, after it was left once.
  await tabTo(page, "Cancel", true);
  await page.keyboard.press("Enter");
  const question = page.getByRole("alertdialog", { name: "Cancel" });
  await question.waitFor();
  await tabTo(page, "Leave it");
  await page.keyboard.press("Enter");
  await question.waitFor({ state: "detached" });
  const holds = () => page.evaluate(() => (document.activeElement as HTMLElement).innerText);
  assert.equal(await holds(), "Cancel", "the focus is where it was");
  await page.keyboard.press("Enter");
  await becomes(page, holds, (name) => name === "Cancel the job");
  await page.keyboard.press("Enter");
  await page.locator("header").getByText("cancelled", { exact: true }).waitFor();
  assert.notEqual(await focused(page), "BODY", "the focus is not lost");
  // By the keys of the page to the list, where Enter opens the row that arrows lead to, and a filter when that has the focus.
  await idle(page);
  await sequence(page, "g", "j");
  await page.getByRole("row", { name: /by-keys/ }).waitFor();
  await becomes(page, () => focused(page), (id) => id === "main");
  await tabTo(page, "state:failed");
  await page.keyboard.press("Enter");
  await becomes(page, () => new URL(page.url()).searchParams.get("filter"), (filter) => filter === "state:failed");
  await page.keyboard.press("Enter");
  await tabTo(page, "Jobs");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Job 1 by-keys" }).waitFor();
  await sequence(page, "g", "j");
  await page.getByRole("row", { name: /by-keys/ }).waitFor();
  await tabTo(page, "Sign out");
  await page.keyboard.press("Enter");
  await page.getByText("You have signed out.").waitFor();
  await tabTo(page, "User");
  await tabTo(page, "Password");
  await tabTo(page, "Sign in");
  assert.equal(await page.evaluate(() => (globalThis as { pointed?: number }).pointed), 0, "nothing was pointed at");
});
