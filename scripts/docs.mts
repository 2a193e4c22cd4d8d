/**
 * The site of docs/: the reference of the types by typedoc, then all pages by VitePress.
 *
 *   npm run docs [-- --serve]
 *
 * --serve  shows the site on this machine instead, and what changes in its pages as they are written
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { build, createServer } from "vitepress";

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
