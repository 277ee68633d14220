// The page on a real server.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { report } from "../mock/data";
import { becomes, idle } from "./harness";
import { PREFIX, realTest } from "./real";

realTest("real: a minute from the link to a job that was watched and cancelled", async ({ page }) => {
  assert.equal(new URL(page.url()).hash, "", "the link has left the address");
  await page.getByRole("img", { name: /processors of/ }).waitFor();
  await page.getByRole("link", { name: "Submit" }).click();
  // A time that no other job of this machine sleeps.
  const sleep = `sleep 1001.${process.pid}`;
  await page.getByLabel("Program and arguments").fill(`sh -c 'echo begun; exec ${sleep}'`);
  await page.getByText("More: name").click();
  await page.getByLabel("Name").fill("watched");
  const same = page.getByRole("region", { name: "The same on the command line" });
  await same.getByText("-J watched").waitFor();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByRole("heading", { name: "Job 1 watched" }).waitFor();
  await page.getByText("begun").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await page.locator("header").getByText("cancelled", { exact: true }).waitFor();
  await page.getByText("begun").waitFor();
  const left = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n").filter((line) => line.includes(sleep));
  assert.deepEqual(left, [], "no process is left");
});

realTest("real: what the command line does shows without a reload", async ({ page }, real) => {
  await page.goto(`${real.origin}/jobs`);
  await idle(page);
  writeFileSync(join(real.folder, "fails"), "#!/bin/sh\necho oops >&2\nexit 3\n");
  assert.equal(real.hpvm("submit", "--parsable", "-J", "from-the-shell", "fails"), "1");
  await page.getByRole("row", { name: /from-the-shell/ }).filter({ hasText: "exit 3" }).waitFor();
  real.hpvm("submit", "-J", "kept-back", "--hold", "true");
  await page.getByRole("row", { name: /kept-back/ }).filter({ hasText: "held" }).waitFor();
  await page.getByRole("link", { name: "2", exact: true }).click();
  await page.getByRole("button", { name: "Release" }).click();
  await page.locator("header").getByText("done", { exact: true }).waitFor();
});

realTest("real: names and output are text, and the policy holds", async ({ page }, real) => {
  const name = "<img src=x onerror=alert(1)>";
  real.hpvm("submit", "-J", name, "printf", "\\033[31mred\\033[0m <script>alert(1)</script>\\n");
  await page.goto(`${real.origin}/jobs/1`);
  await page.getByText("<script>alert(1)</script>").waitFor();
  await page.getByRole("heading", { name }).waitFor();
  assert.equal(await page.getByText("red", { exact: true }).getAttribute("class"), "f1");
});

realTest("real: a job that has failed shows why, without a click", async ({ page }, real) => {
  real.hpvm("submit", "sh", "-c", "echo oops >&2; exit 3");
  await page.goto(`${real.origin}/jobs/1`);
  await page.getByText("oops").waitFor();
  // The other one is a click away, and stays.
  await page.getByRole("button", { name: /^stdout/ }).click();
  await page.getByText("Nothing was written.").waitFor();
});

realTest("real: the server is killed and started again; the page goes on, and the job did", async ({ page }, real) => {
  await page.goto(`${real.origin}/jobs`);
  await idle(page);
  real.hpvm("submit", "-J", "survives", "sleep", "1000");
  await page.getByRole("row", { name: /survives/ }).filter({ hasText: "running" }).waitFor();
  const { host } = new URL(real.link);
  await real.kill();
  await page.getByRole("alert").filter({ hasText: "connection to the server is lost" }).waitFor();
  await real.start(host);
  // The page tries by itself.
  await page.getByRole("alert").waitFor({ state: "detached" });
  real.hpvm("submit", "-J", "afterwards", "--hold", "true");
  await page.getByRole("row", { name: /afterwards/ }).waitFor();
  await page.getByRole("row", { name: /survives/ }).filter({ hasText: "running" }).waitFor();
});

realTest("real: the rank map of a ring is what the ranks counted themselves, and their events are counted", async ({ page }, real) => {
  const source = fileURLToPath(new URL("../../../../tests/programs/traffic.c", import.meta.url));
  execFileSync(join(PREFIX, "bin/mpicc"), ["-o", join(real.folder, "traffic"), source]);
  real.hpvm("submit", "-n", "4", "./traffic", "ring");
  await page.goto(`${real.origin}/jobs/1`);
  await page.getByText(/^(\[\d+\] )?done$/).nth(3).waitFor();
  const said = real.hpvm("logs", "1").matchAll(/sent (\d+) (\d+) \d+ (\d+)/g);
  const own = [...said].map(([, from, to, bytes]) => `${from} ${to} ${bytes}`).sort();
  // Everybody to both neighbours and to itself: two diagonals besides the middle one.
  assert.equal(own.length, 12);
  await page.getByRole("tab", { name: "Ranks" }).click();
  await page.getByRole("img", { name: /Rank map of 4 ranks, 12 pairs talked/ }).waitFor();
  await page.getByText("As a table: the 12 largest of 12 pairs").click();
  const rows = page.getByRole("table", { name: "Pairs of ranks" }).locator("tbody tr");
  // Ranks show what they have counted when they sleep, which may be after they have said so.
  const shown = () => rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.getAttribute("title") ?? cell.textContent).join(" ")));
  await becomes(page, shown, (pairs) => pairs.sort().join("\n") === own.join("\n"));
  await page.getByRole("tab", { name: "Counters" }).click();
  const events = page.getByRole("region", { name: "Events", exact: true });
  const none = page.getByText("the kernel permits no events");
  await events.getByRole("row", { name: /minor-faults/ }).or(none).waitFor();
  if ((await none.count()) === 0) assert.equal(await events.getByRole("columnheader", { name: /rank/ }).count(), 4);
});

realTest("real: reports that jobs have written are listed, opened, compared and taken home", async ({ page }, real) => {
  for (const [name, latency] of [["slow", 1.1], ["fast", 0.5]] as const) {
    writeFileSync(join(real.folder, name), report(name, [latency, latency * 1.01, latency * 1.02]));
    real.hpvm("submit", "--wait", "-J", "evaluation", "--wrap", `cat ${name}`);
  }
  await page.goto(`${real.origin}/reports`);
  await page.getByLabel("Compare report 2").waitFor();
  // One that ends while the page looks, and one that has written none.
  real.hpvm("submit", "-J", "evaluation", "echo", "no page");
  await page.getByRole("row", { name: /Report 3/ }).filter({ hasText: "done" }).waitFor();
  await page.getByRole("link", { name: "Report 1" }).click();
  await page.frameLocator("iframe").getByRole("heading", { name: "Evaluation of slow" }).waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), "report-1.html");
  assert.equal(readFileSync(await file.path(), "utf8"), readFileSync(join(real.folder, "slow"), "utf8"));
  await page.goBack();
  await page.getByLabel("Compare report 2").check();
  await page.getByLabel("Compare report 1").check();
  await page.getByRole("button", { name: "Compare two" }).click();
  await page.getByRole("heading", { name: "1 of 2 values changed" }).waitFor();
  await page.getByRole("row", { name: /latency latency, 2 ranks, 8 B .* better/ }).waitFor();
  await page.goto(`${real.origin}/reports/3`);
  await page.getByText("job 3 has written no report").waitFor();
});

realTest("real: an evaluation is started from the page, and cancelled", async ({ page }, real) => {
  await page.goto(`${real.origin}/reports`);
  await page.getByRole("button", { name: "Start evaluation" }).click();
  await page.getByRole("heading", { name: "Report 1" }).waitFor();
  await page.getByText("It is being measured").waitFor();
  await page.getByRole("link", { name: "What it does now" }).click();
  // Its first words are there while it measures.
  await page.getByRole("heading", { name: "Job 1 evaluation" }).waitFor();
  await becomes(page, () => real.hpvm("logs", "-e", "1"), (said) => said.length > 0);
  const { spec } = JSON.parse(real.hpvm("show", "--json", "1")) as { spec: { script: string; ranks: number } };
  assert.match(spec.script, /bench report --quick -o -/);
  real.hpvm("cancel", "1");
  await page.locator("header").getByText("cancelled", { exact: true }).waitFor();
  await page.goto(`${real.origin}/reports/1`);
  // What was measured until then, if anything was.
  await page.getByText("job 1 has written no report").or(page.getByTitle("Report 1")).waitFor();
});
