// How long the filter takes with 10,000 jobs, from a key to the frame that shows its result.

import { chromium } from "playwright-core";
import { ended } from "./mock/data";
import { Mock } from "./mock/server";
import { idle } from "./browser/harness";

const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const mock = await Mock.start();
mock.add(...Array.from({ length: 10_000 }, (_, i) => ended(i + 1, i % 7 === 0 ? 1 : 0)));
const page = await browser.newPage();
await page.goto(`${mock.origin}/jobs`);
await idle(page);
const times: number[] = [];
for (let i = 0; i < 15; i += 1) {
  times.push(
    await page.evaluate(async (text) => {
      const input = document.querySelector<HTMLInputElement>("input[type=search]");
      if (!input) return NaN;
      const start = performance.now();
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return performance.now() - start;
    }, `state:failed job${i}`),
  );
}
times.sort((a, b) => a - b);
console.log(`filter of 10,000 jobs: median ${times[7]?.toFixed(1)} ms, slowest ${times.at(-1)?.toFixed(1)} ms`);
console.log(`heap: ${await page.evaluate(() => Math.round((performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 1e6))} MB`);
await browser.close();
await mock.stop();
