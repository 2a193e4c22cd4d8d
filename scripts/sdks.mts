/**
 * `npm run sdks`: generates the examples in the native plugin's schema, the copy of it for registries, and its SDKs, in `sdk/`.
 * What it makes is committed, and tests compare it.
 */
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { generateSdks, SDK_LANGUAGES } from "#scripts/generate-sdks";
import { schemaExamples } from "#scripts/schema-examples";

const BUILT_SCHEMA = "provider/dist/plugin/schema.json";
const EXAMPLES_DIRECTORY = "provider/plugin/schema/examples";
/** Where Pulumi's registry looks for it. */
const PUBLISHED_SCHEMA = "provider/cmd/pulumi-resource-email-security/schema.json";

for (const [resource, text] of Object.entries(await schemaExamples(BUILT_SCHEMA, EXAMPLES_DIRECTORY))) {
  await writeFile(join(EXAMPLES_DIRECTORY, `${resource}.md`), text);
}
// The schema with these examples.
build();
await mkdir(dirname(PUBLISHED_SCHEMA), { recursive: true });
await copyFile(BUILT_SCHEMA, PUBLISHED_SCHEMA);
await generateSdks(BUILT_SCHEMA, "sdk");
// The packages with the SDK for Node.js.
build();
console.log(`Written: ${PUBLISHED_SCHEMA}, ${SDK_LANGUAGES.map((language) => `sdk/${language}`).join(", ")}`);

/** Costs nothing where all is as before. */
function build(): void {
  execFileSync(process.execPath, ["scripts/setup.mjs", "--build-only"], { stdio: "inherit" });
}
