// Evaluations: one is started, looked at, compared with another, and taken home as one file.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browserTest, idle } from "./harness";
import { ended, job, report } from "../mock/data";
import type { Mock } from "../mock/server";

const two = (mock: Mock) => {
  mock.add(ended(5, 0, { name: "evaluation" }), ended(6, 0, { name: "other" }), ended(7, 0, { name: "evaluation" }), ended(8, 1, { name: "evaluation" }));
  mock.reports.set(5, report("n1", [1, 1.1, 1.2]));
  mock.reports.set(7, report("n1", [0.5, 0.51, 0.52]));
};

browserTest("an evaluation is started, and its page shows when it is whole", {}, async ({ page, mock, open }) => {
  await open("/reports");
  await page.getByText("There are no reports yet.").waitFor();
  await page.getByLabel("How thorough").selectOption("whole");
  await page.getByText("hpvm submit -J evaluation -n 8 --wrap 'hpvm bench report -o -'").waitFor();
  await page.getByLabel("How thorough").selectOption("quick");
  await page.getByRole("button", { name: "Start evaluation" }).click();
  await page.getByRole("heading", { name: "Report 1" }).waitFor();
  const spec = mock.specs.get(1);
  assert.equal(spec?.name, "evaluation");
  assert.equal(spec?.script, "#!/bin/sh\nexec '/opt/hp vm/bin/hpvm' bench report --quick -o -\n");
  await page.getByText("It is being measured").waitFor();
  mock.reports.set(1, report("n1", [1]));
  mock.put(ended(1, 0, { name: "evaluation" }));
  await page.frameLocator("iframe").getByRole("heading", { name: "Evaluation of n1" }).waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), "report-1.html");
  assert.match(readFileSync(await file.path(), "utf8"), /^<!DOCTYPE html>/);
});

browserTest("two reports are compared by their data", { prepare: two }, async ({ page, open }) => {
  await open("/reports");
  const compare = page.getByRole("button", { name: "Compare two" });
  assert.ok(await compare.isDisabled());
  assert.equal(await page.getByRole("link", { name: /^Report \d/ }).count(), 3);
  await page.getByLabel("Compare report 7").check();
  await page.getByLabel("Compare report 5").check();
  await compare.click();
  await page.getByRole("heading", { name: "1 of 2 values changed" }).waitFor();
  assert.equal(await page.evaluate(() => location.search), "?before=5&now=7", "the older one first");
  await page.getByRole("row", { name: /latency latency, 2 ranks, 8 B 1.10 us 0.510 us 0.46 better/ }).waitFor();
  await page.getByLabel("Show all").check();
  await page.getByRole("row", { name: /bandwidth .* 1.00 same/ }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Evaluations" }).waitFor();
});

const evil = "<script>top.document.title = 'owned'; fetch('/api/v1/session')</script><img src=x onerror=\"top.owned=1\"><form action=/api/v1/jobs method=post><button>Go</button></form>";

browserTest(
  "a report that another program wrote runs nothing and asks for nothing",
  { prepare: (mock) => (mock.add(ended(5, 0, { name: "evaluation" })), mock.reports.set(5, report("n1", [1], evil))) },
  async ({ page, mock, open, allow }) => {
    allow(/Blocked script execution|Content Security Policy|sandboxed/, (origin) => origin === mock.origin);
    await open("/reports/5");
    const frame = page.frameLocator("iframe");
    await frame.getByRole("heading", { name: "Evaluation of n1" }).waitFor();
    await frame.getByRole("button", { name: "Go" }).click();
    await idle(page);
    assert.notEqual(await page.title(), "owned");
    assert.equal(await page.evaluate(() => (globalThis as { owned?: number }).owned), undefined);
    assert.equal(mock.requests.filter((each) => each.startsWith("POST")).length, 0);
  },
);

browserTest("a job that wrote no report says so", { prepare: two }, async ({ page, open, errors }) => {
  await open("/reports/8");
  await page.getByText("job 8 has written no report").waitFor();
  await page.getByRole("link", { name: "Its job" }).waitFor();
  await open("/reports/compare?before=5&now=x");
  await page.getByText("Choose two reports to compare.").waitFor();
  // The browser itself names each answer of 404.
  assert.ok(errors.every((text) => text.includes("404")));
  errors.length = 0;
});

browserTest("an evaluation that waits says why", { prepare: (mock) => mock.add(job(3, { name: "evaluation", state: "pending", reason: "Waits for n1." })) }, async ({ page, open }) => {
  await open("/reports/3");
  await page.getByText("Waits for n1.").waitFor();
  await page.getByRole("link", { name: "What it does now" }).click();
  await page.getByRole("heading", { name: "evaluation" }).waitFor();
});
