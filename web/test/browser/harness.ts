// A browser, a page, and the rules of its tests: no sleeps, no console errors, all found by role.

import { existsSync } from "node:fs";
import { after, test, type TestContext } from "node:test";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { Mock } from "../mock/server";

/// Debian's; another may be named.
const PROGRAM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/// A test that hangs ends all the same; one on a machine that compiles beside it does not end too soon.
const LIMIT_MS = 240_000;
/// One step of a test, for the same reasons.
export const STEP_MS = 90_000;

/// As root chromium has no sandbox, and a container's /dev/shm is too small for it.
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

let browser: Browser | undefined;
after(() => browser?.close());

export interface World {
  mock: Mock;
  page: Page;
  context: BrowserContext;
  /// Errors of the console that the test expects are taken out of here.
  errors: string[];
  open: (path: string) => Promise<void>;
  /// What the console may say, and where requests may go.
  allow: (said: RegExp, origin: (origin: string) => boolean) => void;
}

export interface Options {
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  reducedMotion?: "reduce";
  prepare?: (mock: Mock) => void;
  /// What this machine lacks for it, as a sentence.
  lacks?: string;
}

/// A test with a server and a page of its own. Without a browser it is skipped, and counted.
export function browserTest(name: string, options: Options, run: (world: World) => Promise<void>): void {
  const skip = existsSync(PROGRAM) ? (options.lacks ?? "") || false : `no browser at ${PROGRAM}; apt-get install chromium, or set CHROMIUM`;
  test(name, { skip, timeout: LIMIT_MS }, (context: TestContext) => inWorld(context, options, run));
}

async function inWorld(test: TestContext, options: Options, run: (world: World) => Promise<void>): Promise<void> {
  browser ??= await chromium.launch({ executablePath: PROGRAM, args: FLAGS, timeout: STEP_MS });
  const mock = await Mock.start();
  options.prepare?.(mock);
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.theme ?? "light",
    reducedMotion: options.reducedMotion ?? null,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  context.setDefaultTimeout(STEP_MS);
  const errors: string[] = [];
  let known = (origin: string) => origin === mock.origin;
  let expected: RegExp | undefined;
  context.on("console", (message) => {
    const bad = message.type() === "error" || message.type() === "warning";
    if (bad && !expected?.test(message.text())) errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(String(error.error())));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (!known(url.origin) && url.protocol !== "blob:") errors.push(`a request to ${url.origin}`);
  });
  try {
    const page = await context.newPage();
    const open = async (path: string) => {
      await page.goto(mock.origin + path);
      await idle(page);
    };
    await run({ mock, page, context, errors, open, allow: (said, origin) => ((expected = said), (known = origin)) });
    if (errors.length > 0) throw new Error(`the console says: ${errors.join("; ")}`);
  } catch (error) {
    const pages = context.pages();
    test.diagnostic(`at ${pages[0]?.url()}, console: ${errors.join("; ")}`);
    throw error;
  } finally {
    await context.close();
    await mock.stop();
  }
}

/// Until the page says that it has nothing to do.
export async function idle(page: Page): Promise<void> {
  await page.locator("html[data-idle=true]").waitFor({ state: "attached" });
}

/// Presses keys that belong together: the page takes them for a sequence only when the second follows within a
/// second, so none waits for the page to answer the one before.
export async function sequence(page: Page, ...keys: string[]): Promise<void> {
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
}

/// Until what is read is as wanted, looked at after each frame that the page draws.
export async function becomes<T>(page: Page, read: () => T | Promise<T>, wanted: (value: T) => boolean): Promise<void> {
  const end = performance.now() + STEP_MS;
  for (;;) {
    const value = await read();
    if (wanted(value)) return;
    if (performance.now() > end) throw new Error(`it stays ${JSON.stringify(value)}`);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
  }
}

/// The cells of the row that a text names, by their headers.
export async function row(page: Page, table: string, name: string | RegExp): Promise<Record<string, string>> {
  const grid = page.getByRole("grid", { name: table });
  const heads = await grid.getByRole("columnheader").allInnerTexts();
  const cells = await grid.getByRole("row").filter({ hasText: name }).getByRole("gridcell").allInnerTexts();
  return Object.fromEntries(heads.map((head, i) => [head, (cells[i] ?? "").replace(/\s+/g, " ").trim()]));
}
