import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";

/**
 * Returns a bill of materials (CycloneDX JSON) of the packages that npm installs today with this package, without its
 * peers.
 *
 * @param archive the archive as published
 * @param temporaryDirectory a directory for the files that npm reads
 */
export function buildPackageBom(archive: string, temporaryDirectory: string): string {
  const directory = join(temporaryDirectory, "bom");
  mkdirSync(directory);
  execFileSync("tar", ["--extract", "--gzip", "--file", archive, "--strip-components", "1"], {
    cwd: directory,
  });
  const quietOptions = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["install", "--package-lock-only", "--legacy-peer-deps", ...quietOptions], {
    cwd: directory,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { packages } = readJson<{ packages: Record<string, LockedPackage> }>(join(directory, "package-lock.json"));
  const components = Object.entries(packages).flatMap(([path, { dev = false, ...locked }]) =>
    path === "" || dev ? [] : { ...locked, name: path.replace(/^.*node_modules\//, "") },
  );
  const rootPackage = readJson<Component>(join(directory, "package.json"));
  return serializeBom(Enums.ComponentType.Library, rootPackage, components);
}

/**
 * Returns a bill of materials (CycloneDX JSON) of the packages bundled in the plugin, from the license list of the
 * build.
 */
export function buildPluginBom(root: string): string {
  const directory = join(root, "provider", "dist", "plugin");
  const name = "pulumi-resource-email-security";
  const { version } = readJson<Component>(join(directory, "schema.json"));
  const texts = readFileSync(join(directory, `${name}.licenses.txt`), "utf8").split(/\n-{80}\n\n/);
  const components = texts.map((text): Component => {
    const [, component = "", partVersion = "", license = ""] = /^(\S+) (\S+), (.+)$/m.exec(text) ?? [];
    return { name: component, version: partVersion, license };
  });
  return serializeBom(Enums.ComponentType.Application, { name, version }, components);
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** In npm's format: `sha512-…`. */
  readonly integrity?: string;
}

interface LockedPackage extends Omit<Component, "name"> {
  readonly dev?: boolean;
}

function serializeBom(
  type: Enums.ComponentType,
  { name, version }: Component,
  components: readonly Component[],
): string {
  const bom = new Models.Bom();
  bom.metadata.component = new Models.Component(type, name, { version, bomRef: `${name}@${version}` });
  for (const component of components) bom.components.add(buildComponent(component));
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return serializer.serialize(bom, { sortLists: true, space: 2 });
}

function buildComponent({ name, version, license, integrity }: Component): Models.Component {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const component = new Models.Component(Enums.ComponentType.Library, name, { version, purl, bomRef: purl });
  if (license !== undefined) component.licenses.add(new Models.LicenseExpression(license));
  const [, sha512] = /^sha512-(\S+)/.exec(integrity ?? "") ?? [];
  if (sha512 !== undefined) {
    component.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(sha512, "base64").toString("hex"));
  }
  return component;
}

function readJson<Shape>(file: string): Shape {
  return JSON.parse(readFileSync(file, "utf8")) as Shape;
}
