/**
 * `npm run release:plugin`: creates the archives from which `pulumi plugin install` installs the native plugin, and
 * SHA256SUMS, in `dist/release/plugin/`.
 *
 *   npm run release:plugin [-- --only linux-amd64,node]
 */
import { parseArgs } from "node:util";
import { NODE_VERSION } from "#scripts/node-runtime";
import { makePluginArchives, selectArchiveKinds } from "#scripts/plugin-archives";

const OUTPUT_DIRECTORY = "dist/release/plugin";

const { values } = parseArgs({ options: { only: { type: "string" } } });

console.log(`With Node.js ${NODE_VERSION}, a minute or so each:`);
await makePluginArchives(".", OUTPUT_DIRECTORY, selectArchiveKinds(values.only), (line) => console.log(`  ${line}`));
console.log(`They are in ${OUTPUT_DIRECTORY}, with their SHA256SUMS.`);
