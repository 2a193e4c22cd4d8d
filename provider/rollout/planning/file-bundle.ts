import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { ConfigurationError } from "../../client";
import { isOutside, repositoryOf } from "../../files/repository";
import { PLUGIN_FOLDER, PLUGIN_NAME } from "../../gitops/plugin-lines";
import { readPlainFile } from "../../machine/plain-file";
import { scratchFolder } from "../../machine/scratch-folder";
import { sdkUnfit } from "../../settings/sdk-requirement";
import { quote } from "../../settings/text";
import type { PackedFiles } from "../journal/rollout-record";
import { inTemporaryFolder } from "../model/temporary-folder";
import { NotAllowedError } from "../targets/not-allowed";

/**
 * Reads files into a bundle that keeps their places to one another, so that they can be laid out elsewhere.
 *
 * @param files relative to the working folder; those that can't be read are left out, since that was told already.
 * @param beside more of them, by the name that each gets in the working folder.
 * @param here the working folder. Default: that of the process.
 */
export function packFiles(
  files: Iterable<string>,
  beside: ReadonlyMap<string, string> = new Map(),
  here = process.cwd(),
): PackedFiles {
  const paths = [...new Set([...files].map((file) => resolve(here, file)))];
  const root = repositoryOf(here) ?? commonFolder([here, ...paths.map(dirname)]);
  const bundle = new Map<string, Uint8Array>();
  const pack = (path: string, source: string): void => {
    if (existsSync(source)) bundle.set(relative(root, path).split(sep).join("/"), readPlainFile(source));
  };
  for (const path of paths.sort()) pack(path, path);
  for (const [name, source] of beside) pack(join(here, name), source);
  return { bundle, folder: relative(root, here).split(sep).join("/") || "." };
}

/** A bundle with more files in it, by their paths relative to its working folder. */
export function withFiles({ bundle, folder }: PackedFiles, more: ReadonlyMap<string, string>): PackedFiles {
  const added = [...more].map(([path, text]) => [posix.join(folder, path), Buffer.from(text)] as const);
  return { bundle: new Map([...bundle, ...added]), folder };
}

/** A bundle that was laid out in a folder of its own. */
export interface WorkFolder {
  /** The working folder in it. */
  readonly path: string;
  remove(): void;
}

/**
 * Lays a bundle out where a Pulumi program can run: with a project, and the packages that its provider needs.
 *
 * @param project its name.
 * @param backend the address of the state backend, where the user's project names one.
 */
export function layOut(
  { bundle, folder }: PackedFiles,
  project: string,
  backend: string | undefined,
): WorkFolder {
  return inTemporaryFolder(() => {
    const scratch = scratchFolder("rollout");
    const remove = (): void => scratch[Symbol.dispose]();
    try {
      return { path: fill(scratch.path, { bundle, folder }, project, backend), remove };
    } catch (error) {
      remove();
      throw error;
    }
  });
}

/** @returns the working folder. */
function fill(
  root: string,
  { bundle, folder }: PackedFiles,
  project: string,
  backend: string | undefined,
): string {
  for (const path of [folder, ...bundle.keys()]) refuseStrayPath(path);
  // The boundary that included files may not leave.
  mkdirSync(join(root, ".git"));
  for (const [path, content] of bundle) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o600 });
  }
  const path = join(root, folder);
  mkdirSync(path, { recursive: true });
  const settings = {
    name: project,
    runtime: "nodejs",
    ...(backend === undefined ? {} : { backend: { url: backend } }),
    plugins: { providers: [{ name: PLUGIN_NAME, path: PLUGIN_FOLDER }] },
  };
  writeFileSync(join(path, "Pulumi.yaml"), stringify(settings));
  linkPackages(join(path, "node_modules"));
  return path;
}

/**
 * What a journal holds is data: it says where a file is among the others, and not where on this machine, nor among programs.
 *
 * @throws {NotAllowedError} for a path that leads elsewhere.
 */
function refuseStrayPath(path: string): void {
  const parts = path.split("/");
  const isStray =
    posix.isAbsolute(path) ||
    /[\\\0]|^[a-z]:/i.test(path) ||
    parts.some((part) => /^(\.\.|\.git|node_modules)$/i.test(part));
  if (!isStray) return;
  throw new NotAllowedError(
    `The journal holds a file of a rollout with the path ${quote(path, 300)}, which leads out of its folder or among programs: no rollout writes such. Nothing was run or written. Find out who can write to the journal, and plan the rollout anew with another one.`,
  );
}

/** The provider finds this package, and the host of dynamic providers Pulumi's, from the project's folder upwards. */
function linkPackages(folder: string): void {
  if (process.versions["pnp"] !== undefined) {
    // Its packages are in archives, to which no link leads.
    throw new ConfigurationError(
      "A rollout needs its packages in a folder node_modules, and Yarn's Plug'n'Play has none: set `nodeLinker: node-modules` in .yarnrc.yml, and run `yarn install`. Nothing was changed.",
    );
  }
  const own = join(__dirname, "..", "..", "..");
  const requireAsOwn = createRequire(join(own, "package.json"));
  const manifest = requireAsOwn.resolve("@pulumi/pulumi/package.json");
  const refusal = sdkUnfit((requireAsOwn(manifest) as { version: string }).version);
  if (refusal !== undefined) throw new ConfigurationError(refusal);
  const pulumi = dirname(manifest);
  mkdirSync(join(folder, "@pulumi"), { recursive: true });
  symlinkSync(own, join(folder, "pulumi-email-security"), "junction");
  symlinkSync(pulumi, join(folder, "@pulumi", "pulumi"), "junction");
}

function commonFolder(folders: readonly string[]): string {
  const [first = process.cwd(), ...rest] = folders;
  let common = first;
  while (rest.some((folder) => isOutside(common, folder)) && dirname(common) !== common)
    common = dirname(common);
  return common;
}
