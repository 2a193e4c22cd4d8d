/**
 * Builds the documentation site: the pages generated from code, the type reference by typedoc, and then all pages by
 * VitePress.
 *
 *   npm run docs [-- --serve]
 *
 * --serve  serve the site on this machine instead, and reload pages as they change
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
