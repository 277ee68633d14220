// Pictures of the page of a real server, for the documentation: `hpvm serve` must run.
// usage: node real-shots.js LINK OUT JOB

import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { idle } from "./browser/harness";

const [link = "", out = "", job = "1"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 760 }, colorScheme: "dark" });
const page = await context.newPage();
page.on("console", (message) => console.log(message.type(), message.text()));
mkdirSync(out, { recursive: true });
await page.goto(link);
await idle(page);
for (const name of ["overview", "jobs", "job"]) await page.evaluate((hint) => localStorage.setItem("hpvm.hints", hint), "overview jobs job " + name);
const origin = new URL(link).origin;
for (const theme of ["dark", "light"] as const) {
  await page.emulateMedia({ colorScheme: theme });
  for (const [name, path] of [["overview", "/"], ["jobs", "/jobs"], ["job", `/jobs/${job}`], ["ranks", `/jobs/${job}/ranks`], ["counters", `/jobs/${job}/counters`], ["timeline", `/jobs/${job}/timeline`], ["host", "/hosts"]] as const) {
    await page.goto(origin + path);
    await idle(page);
    // Until two samples have come, so that rates are there.
    await page.waitForTimeout(2500);
    await page.screenshot({ path: `${out}/${name}-${theme}.png` });
  }
}
await browser.close();
