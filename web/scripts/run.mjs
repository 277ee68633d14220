// Builds and runs one of the programs in test/: `node scripts/run.mjs shots`, with its arguments.
import { spawnSync } from "node:child_process";

const [name, ...flags] = process.argv.slice(2);
for (const [command, ...words] of [
  ["npx", "vite", "build", "--ssr", `test/${name}.ts`, "--outDir", "test/out/run", "--logLevel", "warn"],
  ["node", `test/out/run/${name}.js`, ...flags],
]) {
  const { status } = spawnSync(command, words, { stdio: "inherit", cwd: new URL("..", import.meta.url) });
  if (status !== 0) process.exit(status ?? 1);
}
