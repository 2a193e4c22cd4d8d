import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGE = "pulumi-email-security";

/** Returns the version of everything published: the package's version. */
export function readPackageVersion(root: string): string {
  return (readJson(join(root, "provider", "package.json")) as Manifest).version ?? "";
}

/**
 * Writes a version into the package's manifest, the examples, the lock file and the docs. Generated files take their
 * version from these.
 */
export function writeVersion(root: string, version: string): void {
  const current = readPackageVersion(root);
  const lockFile = join(root, "package-lock.json");
  const packageLock = readJson(lockFile) as { packages: Record<string, Manifest> };
  for (const path of ["provider/package.json", ...globSync("examples/*/package.json", { cwd: root })].sort()) {
    const file = join(root, path);
    const manifest = readJson(file) as Manifest;
    const lockedManifest = packageLock.packages[path.replace(/\/package\.json$/, "")];
    for (const target of [manifest, ...(lockedManifest === undefined ? [] : [lockedManifest])]) {
      if (path.startsWith("provider/")) target.version = version;
      for (const dependencies of [target.dependencies, target.devDependencies]) {
        if (dependencies?.[PACKAGE] !== undefined) dependencies[PACKAGE] = `^${version}`;
      }
    }
    writeJson(file, manifest);
  }
  writeJson(lockFile, packageLock);
  for (const path of VERSIONED_FILES) {
    const file = join(root, path);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(current, version));
  }
}

/** Files that contain the version, and don't contain the same number with any other meaning. */
export const VERSIONED_FILES: readonly string[] = [
  "docs/how-to/install-the-native-plugin.md",
  "docs/installation-configuration.md",
  "docs/reference/native-plugin.md",
  "examples/native-go/go.mod",
  "examples/native-java/pom.xml",
  "examples/entra-group-vips-python/requirements.txt",
  "examples/native-python/requirements.txt",
];

interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
