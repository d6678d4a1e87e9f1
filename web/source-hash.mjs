// A hash of everything that the built page is made from. scripts/check-web computes the same and
// compares it with the one in the page, without npm.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export function sourceHash() {
  const here = dirname(fileURLToPath(import.meta.url));
  const files = ["build.mjs", "package.json", "page.html", "source-hash.mjs", "tsconfig.json"];
  for (const name of readdirSync(join(here, "src"))) files.push(`src/${name}`);
  const hash = createHash("sha256");
  for (const name of files.sort()) {
    hash.update(`${name}\0`);
    hash.update(readFileSync(join(here, name)));
  }
  return hash.digest("hex");
}
