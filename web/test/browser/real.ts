// A real server for tests of the page: `hpvm serve` of the installation, a data folder of its own. Skipped, and
// counted, where there is no installation.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { browserTest, idle, STEP_MS, type World } from "./harness";

export const PREFIX = resolve(process.env["HPVM_PREFIX"] ?? fileURLToPath(new URL("../../../../build", import.meta.url)));
const PROGRAM = join(PREFIX, "bin/hpvm");

interface Listed {
  id: number;
  state: string;
}

export class Real {
  readonly folder = mkdtempSync(join(tmpdir(), "hpvm-page-"));
  link = "";
  private server: ChildProcess | undefined;

  async start(listen?: string): Promise<void> {
    listen ??= `127.0.0.1:${await ownPort()}`;
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
    // While this process waits for it no limit of a test can strike.
    return execFileSync(PROGRAM, flags, { env, encoding: "utf8", cwd: this.folder, timeout: STEP_MS }).trim();
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

/// A port that nobody listens at, and that nobody is given who asks for any, so that the server can come back to it.
async function ownPort(): Promise<number> {
  for (let tries = 0; ; tries++) {
    const port = 10_000 + ((process.pid * 131 + tries * 7919) % 20_000);
    const free = await new Promise<boolean>((done) => {
      const server = createServer().once("error", () => done(false));
      server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
    });
    if (free || tries === 1000) return port;
  }
}

/// A test with a real server, signed in by its link.
export function realTest(name: string, run: (world: World, real: Real) => Promise<void>): void {
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

