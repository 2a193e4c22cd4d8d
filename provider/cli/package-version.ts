import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The package's version; this file runs as built, two folders below the package's own. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(__dirname, "..", "..", "package.json"), "utf8")) as {
    version: string;
  };
  return manifest.version;
}
