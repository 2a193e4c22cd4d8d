import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isWindows, PLATFORMS, type Platform } from "#scripts/node-runtime";
import { buildSingleExecutable } from "#scripts/single-executable";
import { type ArchiveFile, createTarGz } from "#scripts/tar-gz";

const NAME = "pulumi-resource-email-security";

/** The target of an archive: a platform, or any machine with Node.js. */
export type ArchiveKind = Platform | "node";

export const ARCHIVE_KINDS: readonly ArchiveKind[] = ["node", ...PLATFORMS];

/**
 * Returns the kinds of archive that `--only linux-amd64,node` selects; all of them if it is undefined.
 *
 * @throws {Error} if a name is unknown.
 */
export function selectArchiveKinds(only: string | undefined): readonly ArchiveKind[] {
  if (only === undefined) return ARCHIVE_KINDS;
  return only.split(",").map((name) => {
    const kind = ARCHIVE_KINDS.find((candidate) => candidate === name);
    if (kind !== undefined) return kind;
    throw new Error(`The archive "${name}" doesn't exist; the archives are ${ARCHIVE_KINDS.join(", ")}.`);
  });
}

/** The file with the digest of each archive, for `sha256sum --check`. */
export const CHECKSUMS_FILE = "SHA256SUMS";

/**
 * Creates the archives from which Pulumi installs the native plugin, and the file with their digests. The output is
 * reproducible.
 *
 * @param root the repository root; the plugin must be built already
 * @param directory is emptied first
 * @param log receives a line for each completed archive
 */
export async function makePluginArchives(
  root: string,
  directory: string,
  kinds: readonly ArchiveKind[] = ARCHIVE_KINDS,
  log: (line: string) => void = () => {},
): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const { version } = JSON.parse(await readFile(join(root, "provider", "package.json"), "utf8"));
  const checksums: string[] = [];
  for (const kind of kinds) {
    const archive = createTarGz(await collectArchiveFiles(kind, root));
    const file = `${NAME}-v${version}-${kind}.tar.gz`;
    await writeFile(join(directory, file), archive);
    checksums.push(`${createHash("sha256").update(archive).digest("hex")}  ${file}\n`);
    log(`${file}, ${(archive.length / 1e6).toFixed(1)} MB`);
  }
  await writeFile(join(directory, CHECKSUMS_FILE), checksums.join(""));
}

async function collectArchiveFiles(kind: ArchiveKind, root: string): Promise<ArchiveFile[]> {
  const readProjectFile = (...path: string[]): Promise<Buffer> => readFile(join(root, ...path));
  const script = await readProjectFile("provider", "dist", "plugin", NAME);
  const licenses: ArchiveFile[] = [
    { name: "LICENSE", content: await readProjectFile("LICENSE") },
    {
      name: `${NAME}.licenses.txt`,
      content: await readProjectFile("provider", "dist", "plugin", `${NAME}.licenses.txt`),
    },
  ];
  if (kind === "node") {
    const windowsScript = await readProjectFile("provider", "dist", "plugin", `${NAME}.cmd`);
    return [
      { name: NAME, content: script, isExecutable: true },
      { name: `${NAME}.cmd`, content: windowsScript },
      ...licenses,
    ];
  }
  return [
    {
      name: isWindows(kind) ? `${NAME}.exe` : NAME,
      content: await buildSingleExecutable(script, NAME, kind),
      isExecutable: true,
    },
    ...licenses,
    { name: "LICENSE.node", content: await readNodeLicense(root) },
  ];
}

/** Returns the license of Node.js with those of its dependencies. The wheels lack it; the npm packages have it. */
async function readNodeLicense(root: string): Promise<Buffer> {
  const modules = join(root, "node_modules");
  const nodePackage = (await readdir(modules)).find((name) => /^node-(?:linux|darwin|win)-/.test(name));
  if (nodePackage === undefined) throw new Error("npm did not install a Node.js package, which contains the license.");
  return await readFile(join(modules, nodePackage, "LICENSE"));
}
