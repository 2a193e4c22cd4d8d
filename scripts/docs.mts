/**
 * The site of docs/: the pages that are made from code, the reference of the types by typedoc, then all pages by VitePress.
 *
 *   npm run docs [-- --serve]
 *
 * --serve  shows the site on this machine instead, and what changes in its pages as they are written
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { build, createServer } from "vitepress";
import { writeReference } from "./write-reference.mts";

writeReference();
execFileSync(process.execPath, [join("node_modules", "typedoc", "bin", "typedoc"), "--logLevel", "Warn"], {
  stdio: "inherit",
});
if (process.argv.includes("--serve")) {
  const server = await createServer("docs", { host: "127.0.0.1" });
  await server.listen();
  server.printUrls();
} else {
  await build("docs");
}
