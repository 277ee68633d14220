// Signing in and out, and the stream that all tabs share.

import assert from "node:assert/strict";
import { becomes, browserTest, idle } from "./harness";
import { ended, job } from "../mock/data";

browserTest("a one-time link signs in and leaves the address", { prepare: (mock) => (mock.signedIn = false) }, async ({ page, open }) => {
  await open("/jobs#link=good");
  await page.getByRole("link", { name: "Jobs" }).waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.equal(new URL(page.url()).pathname, "/jobs");
});

browserTest("a used link and a wrong password say so, and what was typed stays", { prepare: (mock) => (mock.signedIn = false) }, async ({ page, open, errors }) => {
  await open("/#link=used");
  await page.getByText("This link was used already.").waitFor();
  await page.getByLabel("User").fill("me");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").filter({ hasText: "Unknown user or wrong password." }).waitFor();
  assert.equal(await page.getByLabel("User").inputValue(), "me");
  await page.getByLabel("Password").fill("right");
  await page.getByLabel("Password").press("Enter");
  await page.getByRole("heading", { name: "Running" }).waitFor();
  // The browser itself logs each answer 401.
  assert.deepEqual(errors.filter((text) => !text.includes("401")), []);
  errors.length = 0;
});

browserTest("what the server cannot do shows when it happens, and goes when it is mended", {}, async ({ page, mock, open }) => {
  await open("/jobs");
  const told = page.getByRole("status").filter({ hasText: "the disk of /data is full" });
  mock.events.problems(["the disk of /data is full"]);
  await told.waitFor();
  mock.events.problems([]);
  await told.waitFor({ state: "detached" });
});

browserTest("signing out in one tab is signing out in all", {}, async ({ page, context, mock, open }) => {
  await open("/");
  const second = await context.newPage();
  await second.goto(`${mock.origin}/hosts`);
  await idle(second);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You have signed out.").waitFor();
  await second.getByText("The session has ended.").waitFor();
  // The server hears of the end of the stream when its connection closes.
  await becomes(page, () => mock.events.streams, (count) => count === 0);
});

browserTest("tabs share one stream, and another goes on with it when its tab is closed", {}, async ({ page, context, mock, open }) => {
  await open("/jobs");
  const second = await context.newPage();
  await second.goto(`${mock.origin}/jobs`);
  await idle(second);
  assert.equal(mock.events.streams, 1);
  mock.put(job(1, { name: "for-both" }));
  await second.getByRole("row", { name: /for-both/ }).waitFor();
  await page.close();
  await second.waitForFunction(() => document.documentElement.dataset["idle"] === "true");
  mock.put(job(2, { name: "for-the-second" }));
  await second.getByRole("row", { name: /for-the-second/ }).waitFor();
  assert.deepEqual(mock.events.resumed, [undefined, "1"], "it resumes after the last event that both heard");
});

browserTest("a stream that is cut before it told of anything goes on behind its snapshot", {}, async ({ page, mock, open, errors }) => {
  mock.put(ended(1));
  mock.put(ended(2));
  await open("/jobs");
  await page.getByText("2 jobs", { exact: true }).waitFor();
  mock.events.cut();
  await page.getByRole("alert").filter({ hasText: "connection to the server is lost" }).waitFor();
  mock.put(job(3, { name: "meanwhile" }));
  mock.events.restore();
  await page.getByRole("row", { name: /meanwhile/ }).waitFor();
  assert.deepEqual(mock.events.resumed, [undefined, "2"], "not from nothing");
  assert.deepEqual(errors.filter((text) => !/ERR_|net::/.test(text)), []);
  errors.length = 0;
});

browserTest("a cut connection shows, and nothing is lost when it is back", {}, async ({ page, mock, open, errors }) => {
  await open("/jobs");
  mock.put(job(1, { name: "before" }));
  await page.getByRole("row", { name: /before/ }).waitFor();
  mock.events.cut();
  const banner = page.getByRole("alert").filter({ hasText: "connection to the server is lost" });
  await banner.waitFor();
  await page.getByRole("row", { name: /before/ }).waitFor();
  mock.put(ended(1, 0, { name: "before" }));
  mock.put(job(2, { name: "meanwhile" }));
  // In vain, for the server is still away; the page goes on trying by itself.
  await banner.getByRole("button", { name: "Try now" }).click();
  mock.events.restore();
  await page.getByRole("row", { name: /meanwhile/ }).waitFor();
  await page.getByRole("row", { name: /before.*/ }).filter({ hasText: "done" }).waitFor();
  await banner.waitFor({ state: "detached" });
  assert.equal(mock.events.resumed.at(-1), "1", "it asked for what came after the last event it heard");
  assert.deepEqual(errors.filter((text) => !/ERR_|net::/.test(text)), []);
  errors.length = 0;
});
