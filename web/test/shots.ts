// Pictures of the page with made-up jobs, to look at while working on it: `npm run look`.

import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { ended, host, job, pending, report, sample } from "./mock/data";
import { Mock } from "./mock/server";
import { idle } from "./browser/harness";

const OUT = process.argv[2] ?? "test/out/shots";

function fill(mock: Mock): void {
  mock.hosts = ["n1", "n2", "n3", "n4"].map((name, i) =>
    host(name, { sample: sample(Date.now(), [0.8, 0.55, 0.3, 0.1][i] ?? 0) }),
  );
  const gone = mock.hosts[3];
  if (gone) mock.hosts[3] = { ...gone, state: "lost", last_seen: new Date(Date.now() - 240_000).toISOString() };
  mock.add(
    ended(4705, 0, { name: "stencil" }),
    ended(4706, 1, { name: "lammps-lj", user: "ada" }),
    { ...ended(4707), name: "train", outcome: { kind: "signal", signal: 11, detail: "Rank 3 on n2 ended by signal 11 (SIGSEGV)." } },
    { ...ended(4708), name: "sweep", outcome: { kind: "time_limit" } },
    { ...ended(4709), name: "probe", outcome: { kind: "cancelled" } },
    job(4710, { name: "cavity-flow", hosts: ["n2", "n3"], ranks: 12, time_limit_seconds: 3600 }),
    job(4711, { name: "poisson", hosts: ["n1"], ranks: 8, time_limit_seconds: 120 }),
    pending(4712, { name: "poisson-large", ranks: 32 }),
    { ...pending(4713), name: "afterwards", state: "held", reason: "It is held; release it to let it start." },
  );
  mock.add(ended(4701, 0, { name: "evaluation" }), ended(4702, 0, { name: "evaluation" }));
  mock.reports.set(4701, report("n1", [1, 1.1])).set(4702, report("n1", [0.5, 0.51]));
  const out = mock.written(4711);
  for (let i = 0; i < 60; i += 1) out.write(`[${i % 8}] iteration ${i * 100}  residual \u001b[3${1 + (i % 6)}m${(1 / (i + 1)).toExponential(3)}\u001b[0m\n`);
  mock.ranks.set(4711, Array.from({ length: 8 }, (_, rank) => ({
    rank, host: "n1", pid: 31200 + rank, state: rank === 5 ? "sleeping" : rank % 3 === 0 ? "mpi" : "computing",
    ...(rank === 5 ? { waits_for: [4], since_seconds: 3.2 } : {}),
    counters: { packets_sent: 12000 + rank * 371, packets_received: 11000 + rank * 97, sleeps: 0, bytes_sent: 3.1e8 + rank * 2e6 },
  })));
  const ring = Array.from({ length: 8 }, (_, i) => [[i, (i + 1) % 8, 3e8 + i * 1e6], [(i + 1) % 8, i, 2.9e8]] as [number, number, number][]).flat();
  mock.matrices.set(4711, { size: 8, entries: ring });
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const mock = await Mock.start();
fill(mock);
mkdirSync(OUT, { recursive: true });
for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 360]] as const) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme });
  const page = await context.newPage();
  page.on("console", (message) => console.log(message.text()));
  for (const [name, path] of [["overview", "/"], ["jobs", "/jobs"], ["job", "/jobs/4711"], ["ranks", "/jobs/4711/ranks"], ["counters", "/jobs/4711/counters"],
    ["timeline", "/jobs/4711/timeline"], ["script", "/jobs/4711/script"], ["submit", "/submit?from=4711"], ["hosts", "/hosts"], ["host", "/hosts/n1"],
    ["reports", "/reports"], ["report", "/reports/4701"], ["comparison", "/reports/compare?before=4701&now=4702&all=1"], ["administration", "/administration"], ["account", "/account"]] as const) {
    await page.goto(mock.origin + path);
    await idle(page);
    await page.screenshot({ path: `${OUT}/${name}-${theme}-${width}.png`, fullPage: width < 500 });
  }
  await context.close();
}
for (const count of [40, 1000]) {
  mock.hosts = Array.from({ length: count }, (_, i) => host(`n${i}`, { sample: sample(Date.now() + i * 900, ((i * 37) % 100) / 100, 4) }));
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${mock.origin}/hosts`);
  await idle(page);
  await page.screenshot({ path: `${OUT}/field-${count}.png` });
}
await browser.close();
await mock.stop();
