// Compresses what was built, for a server that sends it so, and holds it to its limits: what the page
// takes on the wire before it works, a promise of the documentation, and what is fetched later by who opens
// it: a job's ranks, counters, timeline, files and script, reports, account, administration.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const LIMIT = 60_000;
const LATER = { name: /^(later|perRank)-/, limit: 15_000 };
const dist = new URL("../dist/", import.meta.url);
let total = 0;
let later = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = `${entry.parentPath}/${entry.name}`;
  const bytes = readFileSync(path);
  const brotli = brotliCompressSync(bytes);
  const gzip = gzipSync(bytes, { level: 9 });
  if (LATER.name.test(entry.name)) later += brotli.length;
  else total += brotli.length;
  writeFileSync(`${path}.br`, brotli);
  console.log(`${String(brotli.length).padStart(7)} B brotli ${String(gzip.length).padStart(7)} B gzip  ${entry.name}`);
}
console.log(`${String(total).padStart(7)} B at first, limit ${LIMIT}; later ${later} B, limit ${LATER.limit}`);
if (total > LIMIT || later > LATER.limit) {
  console.error("the page is too large");
  process.exit(1);
}
