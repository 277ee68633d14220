// The page on a real server: `hpvm serve` of the installation, a data folder of its own. Skipped, and
// counted, where there is no installation.

import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { browserTest, idle, type World } from "./harness";

const PREFIX = process.env["HPVM_PREFIX"] ?? fileURLToPath(new URL("../../../../build", import.meta.url));
const PROGRAM = join(resolve(PREFIX), "bin/hpvm");

interface Listed {
  id: number;
  state: string;
}

class Real {
  readonly folder = mkdtempSync(join(tmpdir(), "hpvm-page-"));
  link = "";
  private server: ChildProcess | undefined;

  async start(listen = "127.0.0.1:0"): Promise<void> {
    const flags = ["serve", "--quiet", "--data", this.folder, "--listen", listen];
    this.server = spawn(PROGRAM, flags, { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: this.server.stdout! });
    this.link = await new Promise<string>((done, failed) => {
      lines.once("line", done);
      this.server?.once("exit", (code) => failed(new Error(`hpvm serve ended with ${code}`)));
    });
  }

  /// Killed as by a fault: nothing is tidied up.
  async kill(): Promise<void> {
    const gone = new Promise((done) => this.server?.once("exit", done));
    this.server?.kill("SIGKILL");
    await gone;
  }

  hpvm(...flags: string[]): string {
    const env = { ...process.env, HPVM_SERVER: this.folder };
    return execFileSync(PROGRAM, flags, { env, encoding: "utf8", cwd: this.folder }).trim();
  }

  async stop(): Promise<void> {
    const said = JSON.parse(this.hpvm("queue", "--json")) as Listed[] | { jobs: Listed[] };
    const left = (Array.isArray(said) ? said : said.jobs).filter((job) => job.state !== "ended");
    for (const { id } of left) this.hpvm("cancel", String(id));
    for (const { id } of left) this.wait(id);
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /// Until it has ended, however: the exit code is the job's.
  private wait(id: number): void {
    try {
      this.hpvm("wait", String(id));
    } catch {
      // Ended by a signal.
    }
  }

  get origin(): string {
    return new URL(this.link).origin;
  }
}

/// A test with a real server, signed in by its link.
function realTest(name: string, run: (world: World, real: Real) => Promise<void>): void {
  const lacks = existsSync(PROGRAM) ? "" : `no ${PROGRAM}: run make first`;
  browserTest(name, { lacks }, async (world) => {
    const real = new Real();
    // The browser itself logs what a killed server refuses, and 501 for what ranks do not count.
    world.allow(/Failed to load resource|net::ERR/, (origin) => origin.startsWith("http://127.0.0.1:"));
    await real.start();
    try {
      await world.page.goto(real.link);
      await idle(world.page);
      await run(world, real);
    } finally {
      await real.stop();
    }
  });
}

realTest("real: a minute from the link to a job that was watched and cancelled", async ({ page }) => {
  assert.equal(new URL(page.url()).hash, "", "the link has left the address");
  await page.getByRole("img", { name: /processors of/ }).waitFor();
  await page.getByRole("link", { name: "Submit" }).click();
  await page.getByLabel("Program and arguments").fill("sh -c 'echo begun; exec sleep 1001'");
  await page.getByText("More: name").click();
  await page.getByLabel("Name").fill("watched");
  const same = page.getByRole("region", { name: "The same on the command line" });
  await same.getByText("-J watched").waitFor();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByRole("heading", { name: "Job 1 watched" }).waitFor();
  await page.getByText("begun").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await page.locator("header").getByText("cancelled").waitFor();
  await page.getByText("begun").waitFor();
  const left = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n").filter((line) => line.includes("sleep 1001"));
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
  await page.locator("header").getByText("done").waitFor();
});

realTest("real: names and output are text, and the policy holds", async ({ page }, real) => {
  const name = "<img src=x onerror=alert(1)>";
  real.hpvm("submit", "-J", name, "printf", "\\033[31mred\\033[0m <script>alert(1)</script>\\n");
  await page.goto(`${real.origin}/jobs/1`);
  await page.getByText("<script>alert(1)</script>").waitFor();
  await page.getByRole("heading", { name }).waitFor();
  assert.equal(await page.getByText("red", { exact: true }).getAttribute("class"), "f1");
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
  await page.getByRole("button", { name: "Try now" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
  real.hpvm("submit", "-J", "afterwards", "--hold", "true");
  await page.getByRole("row", { name: /afterwards/ }).waitFor();
  await page.getByRole("row", { name: /survives/ }).filter({ hasText: "running" }).waitFor();
});
