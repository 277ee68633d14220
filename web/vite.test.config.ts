// The tests as one program per file for node, whose test runner runs them.
import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

const files = ["unit", "browser"].flatMap((folder) =>
  readdirSync(new URL(`test/${folder}`, import.meta.url))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/${folder}/${name}`),
);

export default defineConfig({
  publicDir: false,
  build: {
    ssr: true,
    outDir: "test/out",
    target: "node20",
    minify: false,
    rollupOptions: {
      input: Object.fromEntries(files.map((file) => [file.replace(/^test\//, "").replace(/\.ts$/, ""), file])),
    },
  },
});
