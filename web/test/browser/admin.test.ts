// Administration on a real server: users, tokens, limits, draining, the log. What it changes is
// looked at from outside the page.

import assert from "node:assert/strict";
import { accessible } from "./axe";
import { becomes, idle } from "./harness";
import { realTest } from "./real";

realTest("real: an administrator makes a user, who signs in by a link and sees no administration", async ({ page, context }, real) => {
  await page.goto(`${real.origin}/administration`);
  await idle(page);
  const users = page.getByRole("region", { name: "Users", exact: true });
  await users.getByLabel("New user").fill("ann");
  await users.getByRole("button", { name: "Add", exact: true }).click();
  await users.getByRole("row", { name: /ann/ }).waitFor();
  const link = await users.getByRole("status").locator("code").innerText();
  await users.getByLabel("New user").fill("ann");
  await users.getByRole("button", { name: "Add", exact: true }).click();
  await users.getByRole("alert").filter({ hasText: "there is a user 'ann' already" }).waitFor();
  assert.equal(await users.getByLabel("New user").inputValue(), "ann", "what was typed stays");
  await accessible(page);

  const other = await context.browser()!.newContext();
  const theirs = await other.newPage();
  await theirs.goto(link);
  await idle(theirs);
  await theirs.getByRole("link", { name: "ann" }).waitFor();
  assert.equal(await theirs.getByRole("link", { name: "Administration" }).count(), 0);
  await theirs.goto(`${real.origin}/administration`);
  await theirs.getByText("Only administrators see this page.").waitFor();
  await users.getByLabel("Role of ann").selectOption("viewer");
  await becomes(page, () => real.hpvm("user", "list"), (text) => /ann +viewer/.test(text));
  // Removed: the session has ended, and so has the stream.
  await users.getByRole("button", { name: "Remove ann" }).click();
  await users.getByRole("button", { name: "Remove ann, end their sessions" }).click();
  await users.getByRole("row", { name: /ann/ }).waitFor({ state: "detached" });
  await theirs.reload();
  await theirs.getByLabel("Password").waitFor();
  await other.close();
});

realTest("real: limits, a drained host, and the log says who", async ({ page }, real) => {
  await page.goto(`${real.origin}/administration`);
  await idle(page);
  const limits = page.getByRole("form", { name: "Limits of main" });
  await limits.getByLabel("Ranks").fill("2");
  await limits.getByRole("button", { name: "Set" }).click();
  await limits.getByRole("status").waitFor();
  assert.throws(() => real.hpvm("submit", "-n", "3", "true"), /the queue's limit is 2/);
  const host = page.getByRole("form", { name: /^Host / });
  await host.getByLabel("Reason").fill("a fan rattles");
  await host.getByRole("button", { name: "Drain" }).click();
  await host.getByText(/a fan rattles/).waitFor();
  real.hpvm("submit", "true");
  assert.match(real.hpvm("queue"), /a fan rattles/);
  await host.getByRole("button", { name: "Resume" }).click();
  await host.getByLabel("Reason").waitFor();
  const log = page.getByRole("region", { name: "Audit log" });
  await log.getByRole("button", { name: "Look again" }).click();
  for (const what of ["drain", "resume", "set limits"]) await log.getByRole("cell", { name: what, exact: true }).waitFor();
});

realTest("real: a token is shown once, works, and is revoked; a password is set", async ({ page }, real) => {
  await page.goto(`${real.origin}/account`);
  await idle(page);
  const tokens = page.getByRole("region", { name: "Tokens", exact: true });
  await tokens.getByLabel("New token").fill("night build");
  await tokens.getByRole("button", { name: "Make" }).click();
  const secret = await tokens.getByRole("status").locator("code").innerText();
  const ask = () => fetch(`${real.origin}/api/v1/jobs`, { headers: { Authorization: `Bearer ${secret}` } });
  assert.equal((await ask()).status, 200);
  await tokens.getByRole("button", { name: "Revoke night build" }).click();
  await tokens.getByText("There are none.").waitFor();
  assert.equal((await ask()).status, 401);
  await page.getByLabel("New password").fill("long enough");
  await page.getByRole("button", { name: "Set" }).click();
  await page.getByText(/All other sessions/).waitFor();
  await accessible(page);
});
