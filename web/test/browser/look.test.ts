// How it looks: both themes, a phone, keys alone, no surprises for readers of its tree.

import assert from "node:assert/strict";
import { findings } from "./axe";
import { browserTest, idle, sequence, type World } from "./harness";
import { ended, host, job, pending, report, sample } from "../mock/data";
import type { Mock } from "../mock/server";

const PATHS = ["/", "/jobs", "/jobs/2", "/jobs/2/ranks", "/jobs/2/counters", "/jobs/2/timeline", "/jobs/2/files", "/jobs/2/script", "/submit?from=2", "/hosts", "/hosts/n1", "/reports", "/reports/5", "/reports/compare?before=5&now=6&all=1", "/administration", "/account"];

function some(mock: Mock): void {
  mock.hosts = [host("n1", { gpus: 1, sample: { ...sample(Date.now(), 0.55), gpus: [{ name: "NVIDIA H100", busy: 0.4, memory_total: 8e10, memory_used: 1e10 }] } }), host("n2", { state: "drained" }), host("n3", { state: "lost", last_seen: new Date(Date.now() - 1e6).toISOString() })];
  mock.add(ended(1, 3), job(2, { name: "a-name-that-is-rather-long-for-a-phone", time_limit_seconds: 600 }), pending(3), ended(4));
  mock.written(2).write("\u001b[31mred\u001b[32mgreen\u001b[33myellow\u001b[34mblue\u001b[35mmagenta\u001b[36mcyan\u001b[0m\n");
  mock.ranks.set(2, [
    { rank: 0, host: "n1", pid: 1, state: "computing", counters: { sends: 5 } },
    { rank: 1, host: "n1", pid: 2, state: "sleeping", waits_for: [0], since_seconds: 3, counters: { sends: 7 } },
  ]);
  mock.add(ended(5, 0, { name: "evaluation" }), ended(6, 0, { name: "evaluation" }));
  mock.reports.set(5, report("n1", [1, 1.1])).set(6, report("n1", [2, 2.1]));
  mock.matrices.set(2, { size: 2, entries: [[0, 1, 100], [1, 0, 50]] });
}

for (const theme of ["light", "dark"] as const) {
  for (const width of [1280, 360]) {
    browserTest(`axe finds nothing: ${theme}, ${width} pixels`, { theme, width, prepare: some }, async ({ page, open }) => {
      const all: string[] = [];
      for (const path of PATHS) {
        await open(path);
        all.push(...(await findings(page)).map((text) => `${path}: ${text}`));
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (sideways > 0) all.push(`${path}: scrolls sideways by ${sideways} pixels`);
      }
      assert.deepEqual(all, []);
    });
  }
}

browserTest("axe finds nothing where one signs in", { prepare: (mock) => (mock.signedIn = false) }, async ({ page, open, errors }) => {
  await open("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.deepEqual(await findings(page), []);
  errors.length = 0;
});

browserTest("the switch: dark, light, and the system's again", { theme: "dark" }, async ({ page, open }) => {
  const theme = () => page.evaluate(() => document.documentElement.dataset["theme"]);
  await open("/");
  assert.equal(await theme(), "dark");
  await page.keyboard.press("t");
  await page.getByRole("button", { name: "light theme" }).waitFor();
  assert.equal(await theme(), "light");
  await page.reload();
  await idle(page);
  assert.equal(await theme(), "light", "it is kept");
  await page.keyboard.press("t");
  await page.getByRole("button", { name: "auto theme" }).waitFor();
  await page.emulateMedia({ colorScheme: "light" });
  await page.locator("html[data-theme=light]").waitFor({ state: "attached" });
});

browserTest("the keys are listed, move between pages, and can be switched off", { prepare: some }, async ({ page, open }) => {
  await open("/");
  await page.keyboard.press("?");
  const panel = page.getByRole("complementary", { name: "Keys" });
  await panel.getByText("go to Jobs").waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await sequence(page, "g", "h");
  await page.getByRole("region", { name: "Hosts" }).waitFor();
  await page.keyboard.press("?");
  await panel.getByLabel("Keys of one letter").uncheck();
  await page.keyboard.press("Escape");
  await sequence(page, "g", "j");
  assert.equal(new URL(page.url()).pathname, "/hosts");
});

browserTest("tab reaches everything, and the focus is seen", { prepare: some }, async ({ page, open }) => {
  await open("/jobs/2");
  const reached = new Set<string>();
  for (let i = 0; i < 40; i += 1) {
    await page.keyboard.press("Tab");
    const [name, outline] = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      return [(element.innerText || element.getAttribute("aria-label") || element.id).trim(), getComputedStyle(element).outlineStyle] as const;
    });
    if (reached.has(name) || (await page.evaluate(() => document.activeElement === document.body))) continue;
    reached.add(name);
    assert.equal(outline, "solid", `focus on "${name}" is seen`);
  }
  for (const name of ["Overview", "Cancel", "Submit again", "Output", "Following"]) assert.ok(reached.has(name), `${name} of ${[...reached].join(", ")}`);
});

browserTest("who wants less motion gets none", { reducedMotion: "reduce", prepare: some }, async ({ page, open }) => {
  await open("/");
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].filter((element) => {
      const style = getComputedStyle(element);
      return style.animationName !== "none" || !["0s", ""].includes(style.transitionDuration);
    }).length,
  );
  assert.equal(moving, 0);
});

browserTest("a hint that is closed stays closed", {}, async ({ page, open }: World) => {
  await open("/");
  await page.getByRole("button", { name: "Got it" }).click();
  await page.getByRole("note").waitFor({ state: "detached" });
  await page.reload();
  await idle(page);
  assert.equal(await page.getByRole("note").count(), 0);
  await open("/jobs");
  await page.getByRole("note").waitFor();
});

browserTest("an address that leads nowhere says so", {}, async ({ page, open }) => {
  await open("/nowhere");
  await page.getByText("There is nothing at /nowhere.").waitFor();
  await page.getByRole("link", { name: "To the overview" }).click();
  await page.getByRole("heading", { name: "Running" }).waitFor();
});
