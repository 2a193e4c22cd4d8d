import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { ConfigurationError } from "../../client";
import { PLUGIN_DIRECTORY, PLUGIN_NAME } from "../../gitops/plugin-declaration";
import { getSdkVersionProblem } from "../../model/sdk-requirement";
import { quote } from "../../model/text";
import { findRepository, isOutsideDirectory } from "../../settings-files/repository";
import { readRegularFile } from "../../system/regular-file";
import { createScratchDirectory } from "../../system/scratch-directory";
import type { PackedFiles } from "../journal/rollout-record";
import { useTemporaryDirectory } from "../model/temporary-directory";
import { NotAllowedError } from "../targets/assert-run-permissions";

/**
 * Reads files into a bundle that keeps their relative paths, so that they can be laid out elsewhere.
 *
 * @param files relative to the working directory. Unreadable files are omitted, because they have already been
 * reported.
 * @param extraFiles additional files, by their name in the working directory of the bundle.
 * @param workDirectory the working directory. Default: the one of the process.
 */
export function packFiles(
  files: Iterable<string>,
  extraFiles: ReadonlyMap<string, string> = new Map(),
  workDirectory = process.cwd(),
): PackedFiles {
  const paths = [...new Set([...files].map((file) => resolve(workDirectory, file)))];
  const root = findRepository(workDirectory) ?? findCommonDirectory([workDirectory, ...paths.map(dirname)]);
  const bundle = new Map<string, Uint8Array>();
  const addFile = (path: string, source: string): void => {
    if (existsSync(source)) bundle.set(relative(root, path).split(sep).join("/"), readRegularFile(source));
  };
  for (const path of paths.sort()) addFile(path, path);
  for (const [name, source] of extraFiles) addFile(join(workDirectory, name), source);
  return { bundle, directory: relative(root, workDirectory).split(sep).join("/") || "." };
}

/** Adds files to a bundle, by their paths relative to its working directory. */
export function addFiles({ bundle, directory }: PackedFiles, extraFiles: ReadonlyMap<string, string>): PackedFiles {
  const added = [...extraFiles].map(([path, text]) => [posix.join(directory, path), Buffer.from(text)] as const);
  return { bundle: new Map([...bundle, ...added]), directory };
}

export interface BundleDirectory {
  readonly path: string;
  remove(): void;
}

/**
 * Lays a bundle out where a Pulumi program can run, with a project and the packages that its provider needs.
 *
 * @param backend the URL of the state backend, if the user's project specifies one.
 */
export function extractBundle(
  { bundle, directory }: PackedFiles,
  project: string,
  backend: string | undefined,
): BundleDirectory {
  return useTemporaryDirectory(() => {
    const scratch = createScratchDirectory("rollout");
    const remove = (): void => scratch[Symbol.dispose]();
    try {
      return { path: writeBundle(scratch.path, { bundle, directory }, project, backend), remove };
    } catch (error) {
      remove();
      throw error;
    }
  });
}

function writeBundle(
  root: string,
  { bundle, directory }: PackedFiles,
  project: string,
  backend: string | undefined,
): string {
  for (const path of [directory, ...bundle.keys()]) assertBundlePath(path);
  // Marks the boundary that included files must not leave.
  mkdirSync(join(root, ".git"));
  for (const [path, content] of bundle) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o600 });
  }
  const path = join(root, directory);
  mkdirSync(path, { recursive: true });
  const settings = {
    name: project,
    runtime: "nodejs",
    ...(backend === undefined ? {} : { backend: { url: backend } }),
    plugins: { providers: [{ name: PLUGIN_NAME, path: PLUGIN_DIRECTORY }] },
  };
  writeFileSync(join(path, "Pulumi.yaml"), stringify(settings));
  linkPackages(join(path, "node_modules"));
  return path;
}

/**
 * Checks a path from a journal, which is untrusted data. The path may only place a file inside the bundle, and not among programs.
 *
 * @throws {NotAllowedError} if the path leads elsewhere.
 */
function assertBundlePath(path: string): void {
  const parts = path.split("/");
  const isStray =
    posix.isAbsolute(path) ||
    /[\\\0]|^[a-z]:/i.test(path) ||
    parts.some((part) => /^(\.\.|\.git|node_modules)$/i.test(part));
  if (!isStray) return;
  throw new NotAllowedError(
    `The journal contains a rollout file with the path ${quote(path, 300)}, which is outside the rollout's directory or among its programs. No rollout writes such a file. Nothing was run or written. Find out who can write to the journal, and plan the rollout again with another journal.`,
  );
}

/**
 * Resolution starts at the project's directory: the provider has to find this package, and the dynamic provider host has to find Pulumi's.
 */
function linkPackages(directory: string): void {
  if (process.versions["pnp"] !== undefined) {
    // Plug'n'Play keeps packages in archives, and links can't point into them.
    throw new ConfigurationError(
      "A rollout needs its packages in a node_modules directory, which Yarn's Plug'n'Play doesn't create: set `nodeLinker: node-modules` in .yarnrc.yml, and run `yarn install`. Nothing was changed.",
    );
  }
  const packageRoot = join(__dirname, "..", "..", "..");
  const requireFromPackage = createRequire(join(packageRoot, "package.json"));
  const manifest = requireFromPackage.resolve("@pulumi/pulumi/package.json");
  const sdkProblem = getSdkVersionProblem((requireFromPackage(manifest) as { version: string }).version);
  if (sdkProblem !== undefined) throw new ConfigurationError(sdkProblem);
  const pulumiRoot = dirname(manifest);
  mkdirSync(join(directory, "@pulumi"), { recursive: true });
  symlinkSync(packageRoot, join(directory, "pulumi-email-security"), "junction");
  symlinkSync(pulumiRoot, join(directory, "@pulumi", "pulumi"), "junction");
}

function findCommonDirectory(directories: readonly string[]): string {
  const [first = process.cwd(), ...others] = directories;
  let ancestor = first;
  while (others.some((directory) => isOutsideDirectory(ancestor, directory)) && dirname(ancestor) !== ancestor)
    ancestor = dirname(ancestor);
  return ancestor;
}
