import { dirname, join, normalize } from "node:path";
import type { CoveringEntry, FileDeclaration } from "../../gitops/why-schema";
import { listCoveringValues } from "../../model/covering-values";
import { omitUndefined } from "../../model/omit-undefined";
import { pickTextFields } from "../../settings-files/element-fields";
import { getElementSource } from "../../settings-files/element-source";
import { createFileReader } from "../../settings-files/read-yaml-file";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import { readYaml } from "../../settings-files/yaml-source";

/** Returns what the settings declare, expired or removed for a value, and the entries that cover it. */
export function findFileDeclarations(
  settings: Settings,
  value: string,
): { readonly files: readonly FileDeclaration[]; readonly coveringEntries: readonly CoveringEntry[] } {
  const { entries, vips, expired, excluded, today } = settings;
  const isMatch = (declaration: DeclaredEntry | DeclaredVip): boolean =>
    (declaration.kind === "vip" ? declaration.email : declaration.value) === value;
  const chains = buildIncludeChains(settings);
  const buildDeclaration = (
    declaration: DeclaredEntry | DeclaredVip,
    state: FileDeclaration["state"],
    removedAt?: FileDeclaration["removedAt"],
  ): FileDeclaration => {
    const { kind, key, location, overrides, expires } = declaration;
    const entry = declaration.kind === "entry" ? declaration : undefined;
    const isDay = expires !== undefined && expires !== "never";
    return omitUndefined({
      state,
      kind,
      key,
      list: entry?.list,
      verdictScope: entry?.verdictScope,
      place: location,
      includeChain: chains.get(normalize(location.file)) ?? [location.file],
      overrides,
      removedAt,
      ...pickTextFields(declaration),
      source: getElementSource(declaration, settings),
      daysLeft: isDay ? Math.round((Date.parse(expires) - Date.parse(today)) / 86_400_000) : undefined,
    });
  };
  const names = new Set(listCoveringValues(value));
  return {
    files: [
      ...[...entries, ...vips].filter(isMatch).map((declaration) => buildDeclaration(declaration, "declared")),
      ...expired.filter(isMatch).map((declaration) => buildDeclaration(declaration, "expired")),
      ...excluded
        .filter(({ declaration }) => isMatch(declaration))
        .map(({ declaration, location }) => buildDeclaration(declaration, "removed", location)),
    ],
    coveringEntries: entries
      .filter((entry) => names.has(entry.value))
      .map(({ list, value: parentValue, verdictScope, location }) => ({
        list,
        value: parentValue,
        verdictScope,
        place: location,
      }))
      .sort((a, b) => b.value.length - a.value.length),
  };
}

/** Builds the shortest chain of includes to each file. */
function buildIncludeChains({ file, files }: Settings): ReadonlyMap<string, readonly string[]> {
  const readFile = createFileReader(file);
  const knownFiles = new Set(files.map((path) => normalize(path)));
  const chains = new Map<string, readonly string[]>([[normalize(file), [file]]]);
  for (const [includingFile, chain] of chains) {
    const { value } = readYaml(readFile(includingFile).replace(/^\uFEFF/, ""), includingFile);
    const include = (value as { include?: unknown } | undefined)?.include;
    for (const path of Array.isArray(include) ? include : []) {
      const includedFile = join(dirname(includingFile), String(path));
      if (knownFiles.has(includedFile) && !chains.has(includedFile)) chains.set(includedFile, [...chain, includedFile]);
    }
  }
  return chains;
}
