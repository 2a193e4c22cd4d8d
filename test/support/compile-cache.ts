import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The modules that the engine's hosts load, including ours. */
const LOADED = ["@pulumi/pulumi/cmd/dynamic-provider", "pulumi-email-security", "pulumi-email-security/runtime"];

const LOADS_WITHIN_MS = 180_000;

/**
 * Runs before all tests. Compiles once the modules that their hundreds of processes load, so that each starts a third
 * faster. Most processes are killed, and a killed process doesn't save what it compiled.
 *
 * Also gives Pulumi a home for this run: it reads the account's home directory from the system and ignores HOME.
 */
export default function compileOnce(): () => Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "email-security-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = directory;
  process.env["PULUMI_HOME"] = join(directory, "pulumi");
  const required = LOADED.map((name) => `require("${name}");`).join(" ");
  // The dynamic provider listens as soon as it is loaded, and handles exceptions, so the process must exit by itself.
  const program = `process.argv.push("", "127.0.0.1:1");
try { ${required} } catch (error) { console.error(error); process.exit(1); }
process.exit();`;
  execFileSync(process.execPath, ["-e", program], { stdio: ["ignore", "ignore", "inherit"], timeout: LOADS_WITHIN_MS });
  // The asynchronous `rm` retries if a process that is just ending still writes into the directory.
  return async () => await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Returns the variables that a process with its own environment needs to find the compile cache. */
export function getCompileCacheVariables(): Record<string, string> {
  const directory = process.env["NODE_COMPILE_CACHE"];
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}
