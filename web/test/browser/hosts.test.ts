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

browserTest("graphics processors have bars, and say what they are", {}, async ({ page, mock, open }) => {
  const gpu = (busy: number | null) => ({ name: "NVIDIA H100", busy, memory_total: 80 * 2 ** 30, memory_used: 12 * 2 ** 30 });
  await open("/");
  const tile = page.getByRole("article", { name: "Host n1" });
  await tile.getByText("55 %").waitFor();
  assert.equal(await tile.getByText("gpu", { exact: true }).count(), 0, "a host without any has no bar");
  const withGpus = (busy: number, at: number) => host("n1", { gpus: 2, sample: { ...sample(at, 0.55), gpus: [gpu(busy), gpu(null)] } });
  mock.events.sample(withGpus(0.37, Date.now() + 1000));
  await tile.getByRole("img", { name: "graphics processor 0: NVIDIA H100: 37 %, 12.0 GiB of 80.0 GiB; graphics processor 1: NVIDIA H100: busy unknown" }).waitFor();
  await tile.getByText("37 %, 24.0 GiB").waitFor();
  mock.events.sample(withGpus(0.92, Date.now() + 2000));
  await tile.getByText("92 %, 24.0 GiB").waitFor();
  await open("/hosts/n1");
  mock.events.sample(withGpus(0.1, Date.now() + 3000));
  await page.getByText("NVIDIA H100: 10 %, 12.0 GiB of 80.0 GiB", { exact: true }).waitFor();
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
