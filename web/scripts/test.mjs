// Builds and runs the tests. `node scripts/test.mjs unit` leaves out those that need a browser.
import { spawnSync } from "node:child_process";
import { appendFileSync, readdirSync } from "node:fs";

const home = new URL("..", import.meta.url);
const run = (command, args, stdio = "inherit") => {
  const { status, stdout } = spawnSync(command, args, { stdio, cwd: home, encoding: "utf8" });
  if (stdio === "inherit" && status !== 0) process.exit(status ?? 1);
  return { status, stdout };
};

run("node", ["scripts/types.mjs", "--check"]);
run("npx", ["vite", "build", "--config", "vite.test.config.ts", "--logLevel", "warn"]);
const folders = process.argv[2] === "unit" ? ["unit"] : ["unit", "browser"];
const files = folders.flatMap((folder) =>
  readdirSync(new URL(`../test/out/${folder}`, import.meta.url))
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => `test/out/${folder}/${name}`),
);
// Two at a time: each has a browser of its own, and machines that build have two processors.
const flags = ["--test", "--test-concurrency=2", "--test-reporter=tap", ...files];
const { status, stdout } = run("node", flags, ["ignore", "pipe", "inherit"]);

const skipped = [...stdout.matchAll(/^ok \d+ - (.*) # SKIP (.*)$/gm)].map(([, name, why]) => `web: ${name}: ${why}`);
const sums = stdout.match(/^# (tests|pass|fail|skipped) \d+$/gm) ?? [];
if (status !== 0) {
  // What failed, with its reasons, and nothing of what did not.
  for (const [text] of stdout.matchAll(/^not ok [^]*?^  \.\.\.$/gm)) console.error(text);
}
console.log(sums.map((line) => line.slice(2)).join(", "));
if (process.env.HPVM_SKIPPED && skipped.length > 0) appendFileSync(process.env.HPVM_SKIPPED, skipped.join("\n") + "\n");
if (status !== 0 || (process.env.HPVM_SKIP_NOTHING === "1" && skipped.length > 0)) {
  skipped.forEach((line) => console.error(`skipped: ${line}`));
  process.exit(1);
}
