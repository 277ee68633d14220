// Hosts: bars, those that are lost, many of them, their history.

import assert from "node:assert/strict";
import { browserTest, idle } from "./harness";
import { host, job, sample } from "../mock/data";
import type { Mock } from "../mock/server";

browserTest("bars move with the samples, and jobs are named above them", { prepare: (mock) => mock.add(job(8, { name: "poisson" })) }, async ({ page, mock, open }) => {
  await open("/");
  const tile = page.getByRole("article", { name: "Host n1" });
  await tile.getByRole("link", { name: "8 poisson" }).waitFor();
  await tile.getByText("55 %").waitFor();
  const pixels = () => tile.getByRole("img").evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
  const before = await pixels();
  mock.events.sample(host("n1", { sample: sample(Date.now(), 0.95) }));
  await tile.getByText("95 %").waitFor();
  await page.waitForFunction((old) => document.querySelector("canvas")?.toDataURL() !== old, before);
});

const beside = (mock: Mock) => {
  mock.hosts = [host("n1"), host("n2")];
  mock.add(job(8, { name: "poisson" }));
};

browserTest("bars of hosts with and without jobs stand side by side", { prepare: beside }, async ({ page, open }) => {
  await open("/hosts");
  await page.getByRole("link", { name: "8 poisson" }).waitFor();
  const top = (name: string) => page.getByRole("article", { name: `Host ${name}` }).getByRole("img").evaluate((bars) => bars.getBoundingClientRect().top);
  assert.equal(await top("n1"), await top("n2"));
});

browserTest("a host that stops reporting turns grey and says when it was last seen", {}, async ({ page, mock, open }) => {
  await open("/hosts");
  const seen = new Date(Date.now() - 240_000).toISOString();
  mock.events.sample({ ...host("n1"), state: "lost", last_seen: seen, sample: null });
  const tile = page.getByRole("article", { name: "Host n1" });
  await tile.getByText(/lost, last seen \d+ min ago/).waitFor();
  assert.match(await tile.evaluate((element) => getComputedStyle(element).filter), /grayscale/);
  await tile.getByText("55 %").waitFor();
});

browserTest(
  "a thousand hosts: one canvas, few rows, all counted",
  { prepare: (mock) => (mock.hosts = Array.from({ length: 1000 }, (_, i) => host(`n${i}`, { sample: sample(Date.now(), (i % 10) / 10, 4) }))) },
  async ({ page, mock, open }) => {
    await open("/hosts");
    await page.getByRole("img", { name: /1000 hosts, 1000 up/ }).waitFor();
    assert.ok((await page.getByRole("row").count()) <= 100);
    assert.equal(await page.getByRole("table").getAttribute("aria-rowcount"), "1001");
    for (const each of mock.hosts) mock.events.sample({ ...each, sample: sample(Date.now() + 1000, 0.9, 4) });
    await page.getByRole("row", { name: /^n0 up 90 %/ }).waitFor();
    await page.getByRole("region", { name: "Table of hosts" }).evaluate((element) => element.scrollTo(0, 1e9));
    await page.getByRole("link", { name: "n999" }).click();
    await page.getByRole("heading", { name: "Host n999" }).waitFor();
  },
);

browserTest("history of an hour and a day, in the address", {}, async ({ page, mock, open }) => {
  await open("/hosts/n1");
  await page.getByRole("img", { name: /Processors and memory: last values: processors \d+ %/ }).waitFor();
  await page.getByRole("button", { name: "last day" }).click();
  await page.getByRole("button", { name: "last day", pressed: true }).waitFor();
  await idle(page);
  assert.equal(new URL(page.url()).searchParams.get("range"), "day");
  assert.equal(mock.requests.filter((each) => each === "GET /hosts/n1/history").length, 2);
});
