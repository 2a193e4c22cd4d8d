import { writeSync } from "node:fs";

/*
 * `pulumi-resource-email-security --version` prints the version and exits; the engine never uses it. Imported before everything
 * that is slow to load.
 */

/** Defined by the build. */
declare const PLUGIN_VERSION: string;

if (process.argv[2] === "--version") {
  // process.exit does not wait for a stream.
  writeSync(1, `${PLUGIN_VERSION}\n`);
  process.exit(0);
}
