// Builds and runs the tests. `node scripts/test.mjs unit` leaves out those that need a browser.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const run = (command, args) => {
  const { status } = spawnSync(command, args, { stdio: "inherit", cwd: new URL("..", import.meta.url) });
  if (status !== 0) process.exit(status ?? 1);
};
run("node", ["scripts/types.mjs", "--check"]);
run("npx", ["vite", "build", "--config", "vite.test.config.ts", "--logLevel", "warn"]);
const folders = process.argv[2] === "unit" ? ["unit"] : ["unit", "browser"];
const files = folders.flatMap((folder) =>
  readdirSync(new URL(`../test/out/${folder}`, import.meta.url)).map((name) => `test/out/${folder}/${name}`),
);
run("node", ["--test", "--test-concurrency=2", ...files.filter((name) => name.endsWith(".js") || name.endsWith(".mjs"))]);
