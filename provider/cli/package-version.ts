import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the package version. The manifest is two directories above the built file, and one above its source. */
export function getPackageVersion(): string {
  const builtManifest = join(__dirname, "..", "package.json");
  const manifest = existsSync(builtManifest) ? builtManifest : join(__dirname, "..", "..", "package.json");
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
