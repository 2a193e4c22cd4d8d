import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What comes with the package for npm when it is installed today, as CycloneDX: npm's own account of it.
 *
 * @param archive as it is published
 * @param scratch a folder for what npm looks at
 */
export function packageBom(archive: string, scratch: string): unknown {
  const folder = join(scratch, "bom");
  mkdirSync(folder);
  execFileSync("tar", ["--extract", "--gzip", "--file", archive, "--strip-components", "1"], { cwd: folder });
  const npm = (...args: string[]): string =>
    execFileSync("npm", [...args, "--omit=dev", "--omit=peer", "--package-lock-only"], {
      cwd: folder,
      encoding: "utf8",
      shell: process.platform === "win32",
      stdio: ["ignore", "pipe", "ignore"],
    });
  npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps");
  return JSON.parse(npm("sbom", "--sbom-format=cyclonedx"));
}

/** What is in the plugin's one file, as CycloneDX: the packages that the build bundled, by its own account of their licenses. */
export function pluginBom(root: string): unknown {
  const folder = join(root, "provider", "dist", "plugin");
  const schema = JSON.parse(readFileSync(join(folder, "schema.json"), "utf8")) as { version: string };
  const texts = readFileSync(join(folder, "pulumi-resource-email-security.licenses.txt"), "utf8");
  const components = texts.split(/\n-{80}\n\n/).map((text) => {
    const [, name = "", version = "", license = ""] = /^(\S+) (\S+), (.+)$/m.exec(text) ?? [];
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    return { type: "library", name, version, purl, licenses: [{ expression: license }] };
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: { type: "application", name: "pulumi-resource-email-security", version: schema.version },
    },
    components,
  };
}
