/**
 * What the build adds to the compiled package for the native plugin: its schema, and the plugin itself, one file that needs
 * nothing but Node.js. The engine starts it by its name, on Windows by that of a .cmd file beside it.
 */
import { chmodSync, globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { pluginWords } from "./plugin-words.mts";

const NAME = "pulumi-resource-email-security";

/**
 * @param root the repository's folder; the package is compiled already
 * @param minimumNodeVersion the oldest Node.js that it is for, such as `22.19`
 */
export async function buildPlugin(root: string, minimumNodeVersion: string): Promise<void> {
  const manifest = readJson(join(root, "provider", "package.json"));
  const directory = join(root, "provider", "dist", "plugin");
  const schema = buildSchema(join(root, "provider"), manifest);
  writeFileSync(join(directory, "schema.json"), `${JSON.stringify(schema, undefined, 2)}\n`);

  const program = join(directory, NAME);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join("provider", "plugin", "main.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    target: `node${minimumNodeVersion}`,
    // Pulumi's generated messages hold those of Google, which are slow, and large in memory.
    alias: {
      "google-protobuf/google/protobuf/struct_pb.js": `./${join("provider", "plugin", "struct", "struct-messages.ts")}`,
    },
    // Not the names, which errors tell; to keep them otherwise costs time at each start.
    minifySyntax: true,
    minifyWhitespace: true,
    metafile: true,
    legalComments: "none",
    banner: { js: "#!/usr/bin/env node" },
    define: {
      PLUGIN_VERSION: JSON.stringify(manifest["version"]),
      PLUGIN_SCHEMA: JSON.stringify(JSON.stringify(schema)),
    },
    logLevel: "warning",
  });
  chmodSync(program, 0o755);
  writeFileSync(`${program}.cmd`, `@node "%~dp0${NAME}" %*\r\n`);
  writeFileSync(`${program}.licenses.txt`, collectLicenses(root, Object.keys(metafile.inputs)));
}

/** Made from what checks the arguments, in the words that the sources say of them. */
function buildSchema(provider: string, manifest: Manifest): unknown {
  const { packageSchema } = createRequire(import.meta.url)(
    join(provider, "dist", "plugin", "schema", "package-schema.js"),
  );
  return packageSchema(pluginWords(provider), manifest, schemaExamples(provider));
}

/** The example of each resource, as `npm run sdks` wrote them. */
export function schemaExamples(provider: string): Record<string, string> {
  const files = globSync(join(provider, "plugin", "schema", "examples", "*.md"));
  return Object.fromEntries(files.map((file) => [basename(file, ".md"), readFileSync(file, "utf8")]));
}

/** The licenses of the packages that files are from. */
function collectLicenses(root: string, files: readonly string[]): string {
  const packageDirectories = files.flatMap(
    (file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [],
  );
  const texts = [...new Set(packageDirectories)].sort().map((directory) => {
    const { name, version, license } = readJson(join(root, directory, "package.json"));
    const file = readdirSync(join(root, directory)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? "" : `\n\n${readFileSync(join(root, directory, file), "utf8").trim()}`;
    return `${name} ${version}, ${license}${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

type Manifest = Readonly<Record<string, unknown>>;

function readJson(file: string): Manifest {
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}
