import { writeSync } from "node:fs";

/*
 * `pulumi-resource-email-security --version` says which one it is, and ends; the engine never starts it so. Imported before all
 * that takes time to load.
 */

/** Put in by the build. */
declare const PLUGIN_VERSION: string;

if (process.argv[2] === "--version") {
  // process.exit does not wait for a stream.
  writeSync(1, `${PLUGIN_VERSION}\n`);
  process.exit(0);
}
