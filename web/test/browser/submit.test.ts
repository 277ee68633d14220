// Submitting: what it equals, what is wrong, once.

import assert from "node:assert/strict";
import { browserTest, idle } from "./harness";
import { ended } from "../mock/data";

browserTest("the form shows the command line that it equals, and submits", {}, async ({ page, mock, open }) => {
  await open("/submit");
  await page.getByLabel("Program and arguments").fill("./poisson 256");
  await page.getByLabel("Ranks").fill("4");
  await page.getByLabel("Time limit").fill("10:00");
  const same = page.getByRole("region", { name: "The same on the command line" });
  await same.getByText("hpvm submit -n 4 -t 10 ./poisson 256").waitFor();
  await page.getByLabel("Time limit").press("Enter");
  await page.getByRole("heading", { name: /Job 1/ }).waitFor();
  const { command, ranks, time_limit_seconds } = mock.specs.get(1) ?? {};
  assert.deepEqual({ command, ranks, time_limit_seconds }, { command: ["./poisson", "256"], ranks: 4, time_limit_seconds: 600 });
});

browserTest("each wrong field says what is wrong with it, and what was typed stays", {}, async ({ page, mock, open, errors }) => {
  await open("/submit");
  await page.getByLabel("Program and arguments").fill("./poisson");
  await page.getByLabel("Time limit").fill("soon");
  await page.getByText('Expected minutes, or hours:minutes:seconds, found "soon".').waitFor();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.waitForFunction(() => document.activeElement?.id === "field-time_limit_seconds");
  await page.getByLabel("Time limit").fill("5");
  await page.getByLabel("Ranks").fill("65");
  await page.getByText("Expected at most 64 ranks, found 65.").waitFor();
  assert.equal(await page.getByLabel("Ranks").getAttribute("aria-invalid"), "true");
  await page.reload();
  await idle(page);
  assert.equal(await page.getByLabel("Ranks").inputValue(), "65", "a reload keeps it");
  assert.equal(mock.jobs.size, 0);
  assert.deepEqual(errors.filter((text) => !text.includes("422")), []);
  errors.length = 0;
});

browserTest("a slow network submits once", {}, async ({ page, mock, open }) => {
  let open_gate = () => {};
  mock.gate = new Promise((resolve) => (open_gate = resolve));
  await open("/submit");
  await page.getByLabel("Program and arguments").fill("./once");
  const button = page.getByRole("button", { name: "Submit", exact: true });
  await button.click();
  await page.getByRole("button", { name: "Submitting …" }).waitFor();
  await page.getByLabel("Program and arguments").press("Enter");
  open_gate();
  await page.getByRole("heading", { name: /Job 1/ }).waitFor();
  assert.equal(mock.jobs.size, 1);
});

browserTest("an answer that is lost does not make two jobs of one", {}, async ({ page, mock, open, errors }) => {
  mock.loseAnswer = true;
  await open("/submit");
  await page.getByLabel("Program and arguments").fill("./once");
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByText("The server does not answer.").waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: /Job 1/ }).waitFor();
  assert.equal(mock.jobs.size, 1);
  assert.equal(mock.keys.size, 1, "the same key both times");
  assert.deepEqual(errors.filter((text) => !/ERR_|net::/.test(text)), []);
  errors.length = 0;
});

browserTest(
  "submitting again begins with what it was; a script comes from a file",
  { prepare: (mock) => (mock.add(ended(5)), mock.specs.set(5, { command: ["./a b", "x"], ranks: 3, env: { A: "1" } })) },
  async ({ page, mock, open }) => {
    await open("/jobs/5");
    await page.getByRole("link", { name: "Submit again" }).click();
    await page.waitForFunction(() => (document.getElementById("field-ranks") as HTMLInputElement | null)?.value === "3");
    assert.equal(await page.getByLabel("Program and arguments").inputValue(), "'./a b' x");
    assert.equal(await page.getByLabel("Environment").inputValue(), "A=1");
    await page.getByRole("button", { name: "script", exact: true }).click();
    const buffer = Buffer.from("#!/bin/sh\necho hello\n");
    await page.getByLabel("From a file").setInputFiles({ name: "run.sh", mimeType: "text/plain", buffer });
    await page.getByRole("region", { name: "The same" }).getByText("-J run").waitFor();
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByRole("heading", { name: "Job 6 run" }).waitFor();
    assert.equal(mock.specs.get(6)?.script, "#!/bin/sh\necho hello\n");
  },
);
