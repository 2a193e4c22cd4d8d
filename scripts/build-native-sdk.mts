/**
 * Fills `sdk/nodejs/bin`, the content of the npm package of the native SDK for Node.js. It contains the compiled SDK
 * and bundles of the files that the SDK imports from the package with the dynamic resources.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** @param root the repository root; the SDK must be compiled already */
export async function buildNativeSdk(root: string): Promise<void> {
  const bin = join(root, "sdk", "nodejs", "bin");
  rmSync(bin, { recursive: true, force: true });
  cpSync(join(root, "provider", "dist", "native"), join(bin, "native"), { recursive: true });
  for (const [file, exportName] of Object.entries({
    "setting-names": "assertKnownNames",
    "shorten-traces": "shortenTraces",
  })) {
    await build({
      absWorkingDir: root,
      stdin: {
        contents: `export { ${exportName} } from "./provider/resources/${file}";`,
        resolveDir: root,
      },
      outfile: join(bin, "resources", `${file}.js`),
      bundle: true,
      platform: "node",
      target: "node20",
      logLevel: "warning",
    });
  }
}
