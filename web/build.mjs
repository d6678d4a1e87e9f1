// Builds the report's page: one file with script and style inside, a content-security policy that
// allows exactly these two, and an empty place for data. The program embeds it
// (data/web/report.html), so that nobody but who changes this folder needs npm.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { build } from "vite";
import { sourceHash } from "./source-hash.mjs";

const result = await build({
  configFile: false,
  logLevel: "warn",
  build: {
    write: false,
    target: "es2022",
    cssCodeSplit: false,
    rollupOptions: { input: "src/main.ts", output: { format: "iife", inlineDynamicImports: true } },
  },
});
const output = (Array.isArray(result) ? result[0] : result).output;
const script = output.find((item) => item.type === "chunk").code.trim();
const style = String(output.find((item) => item.fileName.endsWith(".css")).source).trim();
if (/<\/script|<\/style/i.test(script + style)) throw new Error("the bundle would end its element");

const sha = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${sha(script)}`,
  `style-src ${sha(style)}`,
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const page = readFileSync("page.html", "utf8")
  .replace("@POLICY@", () => policy)
  .replace("@SOURCE@", () => sourceHash())
  .replace("@STYLE@", () => style)
  .replace("@SCRIPT@", () => script);
mkdirSync("../data/web", { recursive: true });
writeFileSync("../data/web/report.html", page);
console.log(`data/web/report.html: ${page.length} bytes`);
