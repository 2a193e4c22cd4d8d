import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What the hosts of the engine load, and what they load of ours. */
const LOADED = ["@pulumi/pulumi/cmd/dynamic-provider", "pulumi-email-security", "pulumi-email-security/runtime"];

/**
 * Before all tests: compiles once what their hundreds of processes load, so that each starts in two thirds of the time.
 * Processes that are killed, as most are, keep nothing of what they compile.
 *
 * Also gives Pulumi a home of this run: it takes the account's home directory from the system, whatever HOME is.
 */
export default function compileOnce(): () => Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "email-security-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = directory;
  process.env["PULUMI_HOME"] = join(directory, "pulumi");
  const program = `process.argv.push("", "127.0.0.1:1"); ${LOADED.map((name) => `require("${name}");`).join(" ")} process.exit();`;
  execFileSync(process.execPath, ["-e", program], { stdio: "ignore" });
  // Asynchronously, since that tries again where processes that end at this moment still write into it.
  return async () => await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** What a process that is given an environment of its own needs of it to find what was compiled. */
export function compiled(): Record<string, string> {
  const directory = process.env["NODE_COMPILE_CACHE"];
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}
