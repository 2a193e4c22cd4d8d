import { execFile } from "node:child_process";
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { signAdHoc } from "#scripts/mac-signature";
import { getCurrentPlatform, installNode, type Platform } from "#scripts/node-runtime";

const run = promisify(execFile);
const POSTJECT = createRequire(import.meta.url).resolve("postject/dist/cli.js");

/** The fuse that marks a Node.js program with an embedded script; the same for all builds. */
const SENTINEL_FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** No snapshot and no V8 code cache: both depend on the platform and aren't reproducible. */
const SEA_CONFIG = {
  main: "main.js",
  output: "blob",
  disableExperimentalSEAWarning: true,
  useSnapshot: false,
  useCodeCache: false,
};

/**
 * Combines a script and Node.js into a single program that runs without an installed `node`.
 *
 * @param script a program that needs no other files; may start with a shebang line
 * @param name the identifier in the signature
 */
export async function buildSingleExecutable(script: Buffer, name: string, platform: Platform): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), "email-security-single-"));
  try {
    await writeFile(join(directory, "main.js"), script.toString("utf8").replace(/^#!.*\n/, ""));
    await writeFile(join(directory, "sea-config.json"), JSON.stringify(SEA_CONFIG));
    // The Node.js that prepares the blob must have the same version as the one that runs it.
    const hostNode = await installNode(getCurrentPlatform(), directory);
    await chmod(hostNode, 0o755);
    await run(hostNode, ["--experimental-sea-config", "sea-config.json"], { cwd: directory });

    const program = join(directory, name);
    if (platform === getCurrentPlatform()) await copyFile(hostNode, program);
    else await copyFile(await installNode(platform, directory), program);
    const segment = ["--macho-segment-name", "NODE_SEA"];
    await run(process.execPath, [
      POSTJECT,
      program,
      "NODE_SEA_BLOB",
      join(directory, "blob"),
      "--sentinel-fuse",
      SENTINEL_FUSE,
      ...(isMac(platform) ? segment : []),
    ]);
    const content = await readFile(program);
    // The change invalidates the original signature of Node.js.
    return isMac(platform) ? signAdHoc(content, name) : content;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function isMac(platform: Platform): boolean {
  return platform.startsWith("darwin-");
}
