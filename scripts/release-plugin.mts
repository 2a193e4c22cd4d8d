/**
 * `npm run release:plugin`: the archives that `pulumi plugin install` takes the native plugin from, and SHA256SUMS, in
 * `dist/release/`.
 *
 *   npm run release:plugin [-- --only linux-amd64,node]
 */
import { parseArgs } from "node:util";
import { NODE_VERSION } from "#scripts/node-programs";
import { ARCHIVE_KINDS, type ArchiveKind, makePluginArchives } from "#scripts/plugin-archives";

const FOLDER = "dist/release";

const { values } = parseArgs({ options: { only: { type: "string" } } });
const kinds = values.only === undefined ? ARCHIVE_KINDS : values.only.split(",").map(kindNamed);

console.log(`With Node.js ${NODE_VERSION}, a minute or so each:`);
await makePluginArchives(".", FOLDER, kinds, (line) => console.log(`  ${line}`));
console.log(`They are in ${FOLDER}, with their SHA256SUMS.`);

function kindNamed(name: string): ArchiveKind {
  const kind = ARCHIVE_KINDS.find((one) => one === name);
  if (kind === undefined)
    throw new Error(`There is no archive for "${name}"; there are ${ARCHIVE_KINDS.join(", ")}.`);
  return kind;
}
