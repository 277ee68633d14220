// One job: what can be done with it, its output, its ranks, its counters.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Counters, Rank } from "../../src/api/types";
import { becomes, browserTest, idle, sequence } from "./harness";
import { ended, host, job, pending, sample } from "../mock/data";
import { Numbered } from "../mock/output";

const again = pending(9, {
  restarts: 1,
  last_failure: { kind: "node_lost", detail: "host n2 was lost" },
  reason: "is started again (restart 1 of 3): host n2 was lost",
});

browserTest("a key works from the moment on in which what it belongs to is there", { prepare: (mock) => mock.add(job(9)) }, async ({ page, open }) => {
  await open("/jobs/9");
  await page.evaluate(() => {
    const look = new MutationObserver(() => {
      if (document.querySelector("[role=alertdialog]") === null) return;
      look.disconnect();
      dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", cancelable: true }));
      document.documentElement.dataset["pressed"] = "true";
    });
    look.observe(document.body, { childList: true, subtree: true });
  });
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("html[data-pressed=true]").waitFor({ state: "attached" });
  await page.getByRole("alertdialog", { name: "Cancel" }).waitFor({ state: "detached" });
});

browserTest("cancel asks first, ends the job, keeps its record and output", { prepare: (mock) => mock.add(job(9)) }, async ({ page, mock, open }) => {
  mock.written(9).write("kept\n");
  await open("/jobs/9");
  await page.getByRole("button", { name: "Cancel" }).click();
  const question = page.getByRole("alertdialog", { name: "Cancel" });
  await question.getByText("records and output stay").waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  assert.ok(!mock.requests.includes("POST /jobs/9/cancel"), "asked is not done");
  await page.keyboard.press("c");
  await question.waitFor();
  // The answer has the focus when the question has been drawn.
  await page.waitForFunction(() => document.activeElement?.closest("[role=alertdialog]") != null);
  await page.keyboard.press("Enter");
  await page.locator("header").getByText("cancelled", { exact: true }).waitFor();
  await idle(page);
  assert.equal(await page.locator("header").getByText("cancelling").count(), 0, "a late answer undoes no event");
  await page.getByText("kept").waitFor();
  assert.equal(mock.requests.filter((each) => each === "POST /jobs/9/cancel").length, 1);
  assert.ok(!mock.requests.some((each) => each.startsWith("DELETE")), "cancelling is not deleting");
});

browserTest(
  "of a task of an array the whole array can be meant",
  {
    prepare: (mock) =>
      mock.add(job(12, { state: "ended", outcome: { kind: "exit", code: 0 }, array: { id: 12, task: 0 } }), job(13, { array: { id: 12, task: 1 } }), pending(14, { array: { id: 12, task: 2 } }), job(15)),
  },
  async ({ page, mock, open }) => {
    await open("/jobs/12_0");
    const cancel = page.getByRole("button", { name: "Cancel" });
    assert.equal(await cancel.getAttribute("aria-disabled"), "true", "this task has ended");
    await page.getByRole("checkbox", { name: "all of array 12" }).check();
    await cancel.click();
    await page.getByText("Cancel all of array 12?").waitFor();
    await page.getByRole("button", { name: "Cancel all" }).click();
    await idle(page);
    assert.deepEqual(mock.requests.filter((each) => each.startsWith("POST")), ["POST /jobs/12/cancel"]);
    await open("/jobs?filter=array:12+state:cancelled");
    assert.equal(await page.getByRole("row", { name: /12_[12]/ }).count(), 2);
    await open("/jobs/15");
    assert.equal(await page.getByRole("checkbox").count(), 0);
  },
);

browserTest("hold and release, and why something cannot be done", { prepare: (mock) => mock.add(pending(9)) }, async ({ page, open }) => {
  await open("/jobs/9");
  const release = page.getByRole("button", { name: "Release" });
  assert.equal(await release.getAttribute("title"), "It is not held.");
  await page.getByRole("button", { name: "Hold" }).click();
  await page.getByText("It is held.").waitFor();
  await release.click();
  await page.getByText("Waits.").waitFor();
});

browserTest("a job that is started again says why, while it waits and while it runs", { prepare: (mock) => mock.add(again) }, async ({ page, mock, open }) => {
  await open("/jobs/9");
  await page.getByText("is started again (restart 1 of 3): host n2 was lost").waitFor();
  mock.put({ ...again, state: "running", started: new Date().toISOString(), reason: null, estimated_start: null });
  await page.getByText("Restart 1: host n2 was lost").waitFor();
});

browserTest("a record that is removed leads back to the list", { prepare: (mock) => mock.add(ended(9), ended(8)) }, async ({ page, mock, open }) => {
  await open("/jobs/9");
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove the record" }).click();
  await page.getByRole("grid", { name: "Jobs" }).waitFor();
  assert.deepEqual([...mock.jobs.keys()], [8]);
});

browserTest("output is followed, paused, searched, and saved", { prepare: (mock) => mock.add(job(3)) }, async ({ page, mock, open }) => {
  const output = mock.written(3);
  for (let i = 0; i < 300; i += 1) output.write(`[${i % 4}] step ${i}\n`);
  await open("/jobs/3");
  await page.getByText("[3] step 299").waitFor();
  output.write("[0] it lives\n");
  await page.getByText("[0] it lives").waitFor();
  await page.getByRole("button", { name: "Following" }).click();
  output.write("[0] not seen yet\n");
  await page.getByLabel("Search in the output").fill("step 17");
  await page.getByText("11 hits here").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("[1] step 17", { exact: true }).waitFor();
  assert.equal(await page.getByText("not seen yet").count(), 0, "paused");
  await page.getByLabel("Rank", { exact: true }).selectOption("2");
  await page.getByText("[2] step 18", { exact: true }).waitFor();
  assert.equal(await page.getByText("[1] step 17", { exact: true }).count(), 0);
  assert.equal(new URL(page.url()).searchParams.get("rank"), "2");
  await page.getByLabel("Rank", { exact: true }).selectOption("all");
  await page.getByLabel("Search in the output").fill("");
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByText("not seen yet").waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: /^Download/ }).click()]);
  assert.equal(readFileSync(await file.path(), "utf8").split("\n").length, 303);
});

browserTest("colours show, markup does not run", { prepare: (mock) => mock.add(job(3)) }, async ({ page, mock, open }) => {
  mock.written(3).write("\u001b[31mred\u001b[0m <script>alert(1)</script> \u001b[38;2;1;2;3mdeep\u001b[0m\n10%\r\u001b[2K99%\r\n");
  await open("/jobs/3");
  await page.getByText("<script>alert(1)</script>").waitFor();
  assert.equal(await page.getByText("red", { exact: true }).getAttribute("class"), "f1");
  assert.equal(await page.getByText("deep").evaluate((element) => getComputedStyle(element).color), "rgb(1, 2, 3)");
  await page.getByText("99%", { exact: true }).waitFor();
});

browserTest(
  "the end of what has ended is in view, however late its lines are drawn",
  { prepare: (mock) => (mock.add(ended(4)), mock.output.set(4, new Numbered(2 ** 20))) },
  async ({ page, open }) => {
    // All that the server has to say arrives before the first frame.
    await page.addInitScript(() => {
      const frame = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (draw) => window.setTimeout(() => frame(draw), 1000);
    });
    await open("/jobs/4");
    const last = page.getByText(`line ${2 ** 20 / 64 - 1} `);
    await last.waitFor();
    await sequence(page, "g", "g");
    await page.getByText("line 0 ").waitFor();
    await page.keyboard.press("Shift+G");
    await last.waitFor();
  },
);

browserTest(
  "of a gigabyte of output a window is kept, and all of it can be searched",
  { prepare: (mock) => (mock.add(ended(4)), mock.output.set(4, new Numbered(2 ** 30))) },
  async ({ page, open }) => {
    await open("/jobs/4");
    const last = 2 ** 30 / 64 - 1;
    await page.getByText(`line ${last} `).waitFor();
    const box = page.getByRole("region", { name: /Output/ });
    // Up through more than the window holds: what is kept stays bounded.
    for (let i = 0; i < 40; i += 1) {
      await box.evaluate((element) => element.scrollTo(0, 0));
      await idle(page);
    }
    const kept = Number((await box.getAttribute("aria-label"))?.match(/(\d+) lines/)?.[1]);
    assert.ok(kept * 64 <= 5 << 20, `${kept} lines kept`);
    assert.ok((await box.locator(".line").count()) <= 100);
    const heap = await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize);
    assert.ok(heap < 100e6, `the tab takes ${heap} bytes`);
    await sequence(page, "g", "g");
    await page.getByText("line 0 ").waitFor();
    await page.getByLabel("Search in the output").fill("line 100000 ");
    await page.keyboard.press("Enter");
    await page.getByText("line 100000 ").waitFor();
    await page.getByLabel("Search in the output").fill("nowhere");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped").waitFor();
  },
);

browserTest(
  "who goes to the beginning gets there, though other lines are being brought",
  { prepare: (mock) => (mock.add(ended(4)), mock.output.set(4, new Numbered(2 ** 24))) },
  async ({ page, mock, open }) => {
    await open("/jobs/4");
    await page.getByText(`line ${2 ** 24 / 64 - 1} `).waitFor();
    let openGate = () => {};
    mock.outputGate = new Promise((resolve) => (openGate = resolve));
    const asked = () => page.waitForRequest(/\/jobs\/4\/output\?/);
    const earlier = asked();
    await page.getByRole("region", { name: /Output/ }).evaluate((element) => element.scrollTo(0, 0));
    await earlier;
    const first = asked();
    await sequence(page, "g", "g");
    await first;
    openGate();
    await page.getByText("line 0 ").waitFor();
  },
);

const rank = (i: number, change: Partial<Rank> = {}): Rank => ({
  rank: i, host: "n1", pid: 100 + i, state: "computing", counters: { packets_sent: 10 * i }, ...change,
});

browserTest("ranks: who waits, for whom, since when; the map and its table; live", { prepare: (mock) => mock.add(job(6)) }, async ({ page, mock, open }) => {
  mock.ranks.set(6, [rank(0), rank(1, { state: "sleeping", waits_for: [2], since_seconds: 42 }), rank(2), rank(3, { processor: 5, memory: 48 * 2 ** 20 })]);
  const ring = [0, 1, 2, 3].flatMap((i) => [[i, (i + 1) % 4, 1000 + i], [(i + 1) % 4, i, 500]]);
  mock.matrices.set(6, { size: 4, entries: ring });
  await open("/jobs/6/ranks");
  const table = page.getByRole("region", { name: "Table of ranks" });
  const cells = await table.getByRole("row", { name: /^1 / }).getByRole("cell").allInnerTexts();
  assert.deepEqual(cells.slice(2, 5), ["waiting", "2", "42 s"]);
  await page.getByText("1 waiting").waitFor();
  const one = async (head: string, i: number) => {
    const at = (await table.getByRole("columnheader").allInnerTexts()).indexOf(head) - 1;
    return (await table.getByRole("row", { name: new RegExp(`^${i} `) }).getByRole("cell").allInnerTexts())[at];
  };
  assert.deepEqual([await one("Core", 3), await one("Memory", 3), await one("Waited", 1), await one("Waited", 2)], ["5", "48.0 MiB", "100 %", "0 %"]);
  await page.getByText("As a table: the 8 largest of 8 pairs").click();
  const pairs = page.getByRole("table", { name: "Pairs of ranks" });
  assert.deepEqual(await pairs.getByRole("row").nth(1).getByRole("cell").allInnerTexts(), ["3", "0", "1003 B"]);
  await page.getByRole("button", { name: "messages" }).click();
  await page.getByRole("button", { name: "messages", pressed: true }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("unit"), "messages");
  await table.getByRole("link", { name: "2", exact: true }).last().click();
  assert.equal(new URL(page.url()).searchParams.get("rank"), "2", "a rank has an address");
  assert.equal(await table.getByRole("row", { name: /^2 / }).getAttribute("aria-current"), "true");
  mock.ranks.set(6, [rank(0), rank(1), rank(2), rank(3, { counters: { packets_sent: 1e9 } })]);
  mock.events.sample(host("n1", { sample: sample(Date.now() + 5000, 0.9) }));
  await page.getByText("4 computing").waitFor();
  assert.equal(await one("Waited", 1), "50 %", "of two looks");
  assert.match((await one("Packets/s", 3)) ?? "", / [KMG]$/);
});

browserTest("ranks on several hosts; a host that tells nothing; one of a Slurm that has no samples", { prepare: (mock) => mock.add(job(6, { hosts: ["n1", "n2"] })) }, async ({ page, mock, open }) => {
  const named = (last_seen: string) => {
    const { sample: _, ...rest } = host("n2", { last_seen });
    return rest;
  };
  mock.hosts = [named(new Date(Date.now() - 4000).toISOString())];
  mock.ranks.set(6, [rank(0), rank(1, { host: "n2" })]);
  mock.notes.set(6, ["host n3 has not told of its ranks"]);
  mock.matrices.set(6, { size: 2, entries: [[0, 1, 5]], notes: ["host n3 has not told of its ranks"] });
  await open("/jobs/6/ranks");
  const table = page.getByRole("region", { name: "Table of ranks" });
  await table.getByRole("row", { name: /^1 n2/ }).waitFor();
  assert.equal(await page.getByText("host n3 has not told of its ranks").count(), 2, "beside the ranks and the map");
  mock.notes.delete(6);
  mock.ranks.set(6, [rank(0), rank(1, { host: "n2" }), rank(2, { host: "n3" })]);
  mock.events.sample(named(new Date().toISOString()));
  await table.getByRole("row", { name: /^2 n3/ }).waitFor();
});

browserTest("more ranks than a screen has points are shown in tiles, and zoomed into", { prepare: (mock) => mock.add(job(6, { ranks: 4096 })) }, async ({ page, mock, open }) => {
  const entries = Array.from({ length: 4096 }, (_, i) => [i, (i + 1) % 4096, 10]);
  mock.matrices.set(6, { size: 4096, entries });
  mock.ranks.set(6, Array.from({ length: 4096 }, (_, i) => rank(i, i === 4000 ? { state: "sleeping", waits_for: [1], since_seconds: 99 } : {})));
  await open("/jobs/6/ranks");
  const map = page.getByRole("img", { name: /Rank map of 4096 ranks, 4096 pairs talked/ });
  const box = await map.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 1, box.y + 1);
  await page.getByText(/^ranks (\d+)–\d+ to ranks \1–\d+: 30 B$/).waitFor();
  await page.mouse.move(0, 0);
  for (let i = 0; i < 10; i += 1) await page.getByRole("button", { name: "Zoom in" }).click();
  await page.mouse.move(box.x + 1, box.y + 1);
  await page.getByText(/^rank \d+ to rank \d+: 0 B$/).waitFor();
  await page.keyboard.press("0");
  await page.mouse.move(box.x + 2, box.y + 2);
  await page.getByText(/^ranks (\d+)–\d+ to ranks \1–\d+: 30 B$/).waitFor();
  // Of so many ranks the table has those that wait longest.
  await page.getByRole("region", { name: "Table of ranks" }).getByRole("row").nth(1).getByText("4000", { exact: true }).waitFor();
  await page.getByText("and 3840 more, those that wait first").waitFor();
});

browserTest("of a job that has ended no ranks are asked for; those that were seen stay", { prepare: (mock) => mock.add(job(6), ended(7)) }, async ({ page, mock, open }) => {
  await open("/jobs/7/ranks");
  await page.getByText("The job has ended, and its ranks with it.").waitFor();
  await open("/jobs/7/counters");
  await page.getByText("Counters show here while the job runs.").waitFor();
  assert.ok(!mock.requests.some((each) => /jobs\/7\/(ranks|matrix|counters)/.test(each)), mock.requests.join());
  mock.ranks.set(6, [rank(0), rank(1)]);
  mock.matrices.set(6, { size: 2, entries: [[0, 1, 5]] });
  await open("/jobs/6/ranks");
  await page.getByText("2 computing").waitFor();
  mock.ranks.delete(6);
  mock.put(ended(6));
  await page.getByText("Ranks, as they were last").waitFor();
  await page.getByText("2 computing").waitFor();
  await page.getByRole("img", { name: /Rank map of 2 ranks/ }).waitFor();
});

browserTest("without a map the server says why", { prepare: (mock) => (mock.add(job(6)), mock.ranks.set(6, [rank(0)])) }, async ({ page, open, errors }) => {
  await open("/jobs/6/ranks");
  await page.getByText("This job does not count who talks to whom.").waitFor();
  assert.deepEqual(errors.filter((text) => !text.includes("501")), []);
  errors.length = 0;
});

browserTest("counters: per rank, in all, and as a file", { prepare: (mock) => mock.add(job(6)) }, async ({ page, mock, open }) => {
  mock.ranks.set(6, [rank(0, { counters: { sends: 1234, "a,b": 1 } }), rank(1, { counters: { sends: 766 } })]);
  await open("/jobs/6/counters");
  const cells = await page.getByRole("row", { name: /sends/ }).getByRole("cell").allInnerTexts();
  assert.deepEqual(cells, ["1.23 K", "766", "2.00 K"]);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as CSV" }).click()]);
  assert.equal(readFileSync(await file.path(), "utf8"), 'rank,host,sends,"a,b"\r\n0,n1,1234,1\r\n1,n1,766,\r\n');
});

const counted = (at: number): Counters => ({
  elapsed_seconds: at,
  events: [{ name: "task-clock", unit: "ns" }, { name: "cycles", unit: "count" }],
  ranks: [0, 1].map((i) => ({
    rank: i,
    host: "n1",
    pid: 100 + i,
    values: [
      { value: 5e8 * at * (i + 1), coverage: 1, error: 0 },
      i === 0 ? { value: 3e9 * at, coverage: 0.25, error: 1e6 } : { coverage: 0 },
    ],
  })),
  notes: ["context-switches are not counted: kernel.perf_event_paranoid is 2"],
});

browserTest("events of ranks: table with coverage, charts, file, live", { prepare: (mock) => (mock.add(job(6)), mock.counters.set(6, counted(2))) }, async ({ page, mock, open }) => {
  await open("/jobs/6/counters");
  const cells = (name: RegExp) => page.getByRole("region", { name: "Events", exact: true }).getByRole("row", { name }).getByRole("cell").allInnerTexts();
  assert.deepEqual(await cells(/task-clock/), ["1.00 s", "2.00 s", "3.00 s"]);
  assert.deepEqual(await cells(/cycles/), ["6.00 G 25 %", "not counted", "not counted"]);
  await page.getByText("perf_event_paranoid is 2").waitFor();
  for (const at of [3, 4]) {
    mock.counters.set(6, counted(at));
    mock.events.sample(host("n1", { sample: sample(Date.now() + 5000 * at, 0.9) }));
    await page.getByText(`Counted for ${at} s`).waitFor();
  }
  await page.getByRole("img", { name: "rank 1: now 1.00 s/s" }).waitFor();
  await page.getByLabel("Per second, by rank").selectOption("cycles");
  await page.getByRole("img", { name: "rank 0: now 3.00 G/s" }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save events as CSV" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").split("\r\n");
  assert.deepEqual(lines.slice(0, 3), ["rank,host,pid,event,unit,value,coverage,error", "0,n1,100,task-clock,ns,2000000000,1,0", "0,n1,100,cycles,count,12000000000,0.25,1000000"]);
  assert.equal(lines[4], "1,n1,101,cycles,count,,0,");
});

browserTest("timeline, files and script of a job", { prepare: (mock) => mock.add(ended(6)) }, async ({ page, mock, open }) => {
  mock.specs.set(6, { script: "#!/bin/sh\nmpirun ./a <&0\n", stdout: "out.txt" });
  await open("/jobs/6/timeline");
  await page.getByRole("img", { name: /Mean use/ }).waitFor();
  await page.getByText("submitted", { exact: true }).waitFor();
  // A part of the time is chosen by dragging over it, and all of it shows again after a double click.
  const over = page.locator(".u-over").first();
  const area = await over.boundingBox();
  assert.ok(area);
  const pixels = () => page.getByRole("img", { name: /Mean use/ }).locator("canvas").evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
  const whole = await pixels();
  await page.mouse.move(area.x + area.width * 0.3, area.y + 20);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.6, area.y + 20, { steps: 5 });
  await page.mouse.up();
  await page.mouse.move(0, 0);
  await becomes(page, pixels, (now) => now !== whole);
  await over.dblclick();
  await page.mouse.move(0, 0);
  await becomes(page, pixels, (now) => now === whole);
  await page.getByRole("tab", { name: "Timeline" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("row", { name: /Standard output out.txt/ }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.getByText("mpirun ./a <&0").waitFor();
});

browserTest("a job that is not there, or not mine", {}, async ({ page, open, errors }) => {
  await open("/jobs/77");
  await page.getByText("There is no job 77, or it is not yours.").waitFor();
  errors.length = 0;
});
