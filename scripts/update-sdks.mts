/**
 * `npm run sdks`: regenerates the examples in the native plugin's schema, the copy of the schema for Pulumi's registry, and the SDKs
 * in `sdk/`. The output is committed, and tests check that it is up to date.
 */
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { generateSdks, SDK_LANGUAGES } from "#scripts/generate-sdks";
import { generateSchemaExamples } from "#scripts/schema-examples";

const BUILT_SCHEMA = "provider/dist/plugin/schema.json";
const EXAMPLES_DIRECTORY = "provider/plugin/schema/examples";
/** Pulumi's registry expects the schema here. */
const REGISTRY_SCHEMA = "provider/cmd/pulumi-resource-email-security/schema.json";

for (const [resource, text] of Object.entries(await generateSchemaExamples(BUILT_SCHEMA, EXAMPLES_DIRECTORY))) {
  await writeFile(join(EXAMPLES_DIRECTORY, `${resource}.md`), text);
}
// Rebuilds the schema with the new examples.
buildPackage();
await mkdir(dirname(REGISTRY_SCHEMA), { recursive: true });
await copyFile(BUILT_SCHEMA, REGISTRY_SCHEMA);
await generateSdks(BUILT_SCHEMA, "sdk");
// Rebuilds the packages with the new SDK for Node.js.
buildPackage();
console.log(`Written: ${REGISTRY_SCHEMA}, ${SDK_LANGUAGES.map((language) => `sdk/${language}`).join(", ")}`);

/** Builds the packages; does nothing if they are up to date. */
function buildPackage(): void {
  execFileSync(process.execPath, ["scripts/setup.mjs", "--build-only"], { stdio: "inherit" });
}
