/**
 * What the npm package of the native SDK for Node.js holds, in `sdk/nodejs/bin`: what was compiled of it for the package with
 * the dynamic resources, and the files there that it needs beside itself, each with all that it needs.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** @param root the repository's folder; the SDK is compiled already */
export async function buildNativeSdk(root: string): Promise<void> {
  const bin = join(root, "sdk", "nodejs", "bin");
  rmSync(bin, { recursive: true, force: true });
  cpSync(join(root, "provider", "dist", "native"), join(bin, "native"), { recursive: true });
  for (const [file, exportName] of Object.entries({
    "known-names": "refuseUnknownNames",
    traces: "briefTraces",
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
