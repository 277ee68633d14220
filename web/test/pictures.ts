// Pictures of the page of a real server, for the documentation; `hpvm serve` must run.
// usage: npm run pictures LINK FOLDER JOB

import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { idle } from "./browser/harness";

const [link = "", out = "", job = "1"] = process.argv.slice(2);
const program = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, locale: "en-GB" });
const page = await context.newPage();
mkdirSync(out, { recursive: true });
await page.goto(link);
await idle(page);
await page.evaluate(() => localStorage.setItem("hpvm.hints", "overview jobs job"));
const places = { overview: "/", jobs: "/jobs", output: `/jobs/${job}`, ranks: `/jobs/${job}/ranks`, counters: `/jobs/${job}/counters` };
for (const theme of ["dark", "light"] as const) {
  await page.emulateMedia({ colorScheme: theme });
  await page.goto(`${new URL(link).origin}/`);
  for (const [name, path] of Object.entries(places)) {
    // Inside of the page, so that the last minute of samples stays.
    await page.evaluate((to) => {
      history.pushState(null, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
    }, path);
    await idle(page);
    await page.screenshot({ path: `${out}/${name}-${theme}.png` });
  }
}
await browser.close();
