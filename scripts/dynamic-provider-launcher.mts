import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Runs the dynamic provider of the program in the current folder, in one Node.js process: Pulumi's own launcher starts
 * a second one only to find the file. The arguments are shifted so that the provider sees them where it would as a script.
 */
const START = [
  "const provider = require.resolve('@pulumi/pulumi/cmd/dynamic-provider')",
  "process.argv.splice(1, 0, provider)",
  "require(provider)",
].join("; ");

/** Writes `pulumi-resource-pulumi-nodejs`, by which the engine starts dynamic providers, into a folder. */
export function writeDynamicProviderLauncher(
  folder: string,
  platform: NodeJS.Platform = process.platform,
): void {
  const path = join(folder, "pulumi-resource-pulumi-nodejs");
  if (platform === "win32") writeFileSync(`${path}.cmd`, `@node -e "${START}" -- %*\r\n`);
  else writeFileSync(path, `#!/bin/sh\nexec node -e "${START}" -- "$@"\n`, { mode: 0o755 });
}
