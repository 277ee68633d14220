// Writes the types of the API from its OpenAPI document; with --check says whether they are current.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const document = new URL("../../cluster/serve/openapi.json", import.meta.url);
const target = new URL("../src/api/schema.d.ts", import.meta.url);
const head = "// Generated from cluster/serve/openapi.json by `npm run types`. Do not edit.\n\n";
const ast = await openapiTS(JSON.parse(readFileSync(document, "utf8")), { defaultNonNullable: false });
const text = head + astToString(ast);

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/api/schema.d.ts is not what cluster/serve/openapi.json says; run: npm run types");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
