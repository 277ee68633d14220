// The list of jobs, and what waits.

import assert from "node:assert/strict";
import { becomes, browserTest, idle, row } from "./harness";
import { ended, host, job, pending } from "../mock/data";

browserTest("a job that somebody submits appears, changes and goes without a reload", {}, async ({ page, mock, open }) => {
  await open("/jobs");
  await page.getByText("No job was submitted yet.").waitFor();
  mock.put(pending(12, { name: "arrives" }));
  await page.getByRole("row", { name: /arrives/ }).waitFor();
  mock.put(job(12, { name: "arrives" }));
  await page.getByRole("gridcell", { name: "running" }).waitFor();
  mock.put(ended(12, 3, { name: "arrives" }));
  await page.getByRole("gridcell", { name: "exit 3" }).waitFor();
  mock.jobs.clear();
  mock.events.tell("job-removed", { id: 12 });
  await page.getByText("No job was submitted yet.").waitFor();
});

browserTest(
  "ten thousand jobs: few rows in the DOM, all counted, the filter in the address",
  { prepare: (mock) => mock.add(...Array.from({ length: 10_000 }, (_, i) => ended(i + 1, i % 7 === 0 ? 1 : 0))) },
  async ({ page, open }) => {
    await open("/jobs");
    const grid = page.getByRole("grid", { name: "Jobs" });
    await page.getByText("10,000 jobs").waitFor();
    assert.equal(await grid.getAttribute("aria-rowcount"), "10001");
    assert.ok((await grid.getByRole("row").count()) <= 100);
    await page.getByLabel("Filter jobs").fill("state:failed job99");
    await page.getByText("16 jobs", { exact: true }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("filter"), "state:failed job99");
    await page.reload();
    await idle(page);
    await page.getByText("16 jobs", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Filter jobs").inputValue(), "state:failed job99");
  },
);

browserTest(
  "the table is worked by keys, and the active row keeps its job",
  { prepare: (mock) => mock.add(...Array.from({ length: 500 }, (_, i) => ended(i + 1))) },
  async ({ page, mock, open }) => {
    await open("/jobs");
    const grid = page.getByRole("grid", { name: "Jobs" });
    await grid.focus();
    const active = () => grid.evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.innerText ?? "");
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowDown");
    await becomes(page, active, (text) => text.startsWith("498"));
    mock.put(job(501));
    await page.getByRole("row", { name: /^501 / }).waitFor();
    assert.match(await active(), /^498/, "a new row above changes nothing");
    await page.keyboard.press("End");
    await page.getByRole("row", { name: /^1 / }).waitFor();
    await becomes(page, active, (text) => /^1\b/.test(text));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Job 1 job1" }).waitFor();
    await page.goBack();
    await grid.waitFor();
    // Elsewhere on the page Enter is for what has the focus.
    await page.getByRole("button", { name: "state:failed" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "state:failed", pressed: true }).waitFor();
    await page.getByRole("link", { name: "Hosts" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Hosts" }).waitFor();
  },
);

browserTest(
  "a task of an array is named as Slurm's users know it",
  { prepare: (mock) => mock.add(job(12, { name: "zero", array: { id: 12, task: 0 } }), job(14, { name: "two", array: { id: 12, task: 2 } })) },
  async ({ page, mock, open }) => {
    await open("/jobs?filter=12_2");
    assert.equal((await row(page, "Jobs", "two"))["Job"], "12_2");
    assert.equal(await page.getByRole("row", { name: /zero/ }).count(), 0);
    await page.getByRole("link", { name: "12_2" }).click();
    await page.getByRole("heading", { name: "Job 12_2 two" }).waitFor();
    assert.equal(new URL(page.url()).pathname, "/jobs/12_2");
    mock.put(job(14, { name: "renamed", array: { id: 12, task: 2 } }));
    await page.getByRole("heading", { name: "Job 12_2 renamed" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Cancel job 12_2?").waitFor();
  },
);

browserTest("a wrong filter says what is known", { prepare: (mock) => mock.add(job(1)) }, async ({ page, open }) => {
  await open("/jobs?filter=colour:red");
  await page.getByText('"colour" is not known; known are state, user').waitFor();
});

browserTest(
  "what waits says why and until when, in the list, the overview and the job",
  { prepare: (mock) => mock.add(pending(5, { name: "waits" })) },
  async ({ page, open }) => {
    const reason = "Needs 8 processors; 2 are free on n1.";
    await open("/jobs");
    assert.match((await row(page, "Jobs", "waits"))["Time"] ?? "", new RegExp(`${reason}.*starts in \\d+ min at the latest`));
    await open("/");
    await page.getByRole("region", { name: "Waiting" }).getByText(reason).waitFor();
    await open("/jobs/5");
    await page.getByText(reason).waitFor();
    const start = await page.getByText("at the latest").getByRole("time").getAttribute("datetime");
    assert.ok(Number.isFinite(Date.parse(start ?? "")), "the exact time is in the DOM");
  },
);

browserTest(
  "names are text, whatever they hold",
  { prepare: (mock) => mock.add(job(1, { name: "<img src=x onerror=alert(1)>", hosts: ["<b>n"] })) },
  async ({ page, open }) => {
    for (const path of ["/jobs", "/", "/jobs/1"]) {
      await open(path);
      await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
      assert.equal(await page.locator("img[src=x]").count(), 0);
    }
  },
);

browserTest(
  "search leads to the list, a number to the job",
  { prepare: (mock) => (mock.add(job(31, { name: "poisson" })), (mock.hosts = [host("n1")])) },
  async ({ page, open }) => {
    await open("/");
    await page.keyboard.press("/");
    await page.keyboard.type("poisson");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: /poisson/ }).waitFor();
    assert.equal(await page.getByLabel("Filter jobs").inputValue(), "poisson");
    await page.getByRole("link", { name: "Hosts" }).click();
    await page.getByLabel("Search jobs").fill("31");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Job 31 poisson" }).waitFor();
  },
);
