/**
 * What the npm package of the native SDK for Node.js holds, in `sdk/nodejs/bin`: what was compiled of it for the package with
 * the dynamic resources, and the one file there that it needs beside itself, with all that this one needs.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** @param root the repository's folder; the SDK is compiled already */
export async function buildNativeSdk(root: string): Promise<void> {
  const bin = join(root, "sdk", "nodejs", "bin");
  rmSync(bin, { recursive: true, force: true });
  cpSync(join(root, "provider", "dist", "native"), join(bin, "native"), { recursive: true });
  await build({
    absWorkingDir: root,
    stdin: {
      contents: 'export { refuseUnknownNames } from "./provider/resources/known-names";',
      resolveDir: root,
    },
    outfile: join(bin, "resources", "known-names.js"),
    bundle: true,
    platform: "node",
    target: "node20",
    logLevel: "warning",
  });
}
