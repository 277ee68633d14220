// What axe finds on a page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const AXE = readFileSync(fileURLToPath(new URL("../../../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

interface Finding {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/// All of axe's rules, contrast included. The script is the test's, so the policy does not see it. Frames are
/// left out: a report's runs no script and has no origin, so axe could only ask it in vain, and the browser would
/// say so on the console, early enough to fail the test or not.
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: Finding[] }> } };
    return (await axe.run({ iframes: false, resultTypes: ["violations"] })).violations;
  });
  return found.map((each) => `${each.id} (${each.impact}): ${each.nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`);
}

export async function accessible(page: Page): Promise<void> {
  assert.deepEqual(await findings(page), []);
}
