import { dirname, join, normalize } from "node:path";
import { textsOf } from "../../files/element-fields";
import { readerFrom } from "../../files/read-source";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import { readYaml } from "../../files/yaml-source";
import type { Above, ToldByFiles } from "../../gitops/why-schema";
import { coveringValues } from "../../settings/coverage";
import { withoutUndefined } from "../../settings/without-undefined";

/** Returns what the settings declare, expired or removed for a value, and the entries that cover it. */
export function toldByFiles(
  settings: Settings,
  value: string,
): { readonly files: readonly ToldByFiles[]; readonly above: readonly Above[] } {
  const { entries, vips, expired, excluded, today } = settings;
  const isMatch = (declaration: DeclaredEntry | DeclaredVip): boolean =>
    (declaration.kind === "vip" ? declaration.email : declaration.value) === value;
  const chains = buildIncludeChains(settings);
  const buildDeclaration = (
    declaration: DeclaredEntry | DeclaredVip,
    state: ToldByFiles["state"],
    removedAt?: ToldByFiles["removedAt"],
  ): ToldByFiles => {
    const { kind, key, place, overrides, expires } = declaration;
    const entry = declaration.kind === "entry" ? declaration : undefined;
    const isDay = expires !== undefined && expires !== "never";
    return withoutUndefined({
      state,
      kind,
      key,
      list: entry?.list,
      verdictScope: entry?.verdictScope,
      place,
      chain: chains.get(normalize(place.file)) ?? [place.file],
      overrides,
      removedAt,
      ...textsOf(declaration),
      daysLeft: isDay ? Math.round((Date.parse(expires) - Date.parse(today)) / 86_400_000) : undefined,
    });
  };
  const names = new Set(coveringValues(value));
  return {
    files: [
      ...[...entries, ...vips].filter(isMatch).map((declaration) => buildDeclaration(declaration, "declared")),
      ...expired.filter(isMatch).map((declaration) => buildDeclaration(declaration, "expired")),
      ...excluded
        .filter(({ declared }) => isMatch(declared))
        .map(({ declared, place }) => buildDeclaration(declared, "removed", place)),
    ],
    above: entries
      .filter((entry) => names.has(entry.value))
      .map(({ list, value: parentValue, verdictScope, place }) => ({
        list,
        value: parentValue,
        verdictScope,
        place,
      }))
      .sort((declaration, other) => other.value.length - declaration.value.length),
  };
}

/** Builds the shortest chain of includes to each file. */
function buildIncludeChains({ file, files }: Settings): ReadonlyMap<string, readonly string[]> {
  const readFile = readerFrom(file);
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
