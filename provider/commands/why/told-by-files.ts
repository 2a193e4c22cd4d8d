import { dirname, join, normalize } from "node:path";
import { textsOf } from "../../files/element-fields";
import { readerFrom } from "../../files/read-source";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import { readYaml } from "../../files/yaml-source";
import type { Above, ToldByFiles } from "../../gitops/why-schema";
import { coveringValues } from "../../settings/coverage";
import { withoutUndefined } from "../../settings/without-undefined";

/** What settings say of a value: what is declared, what has ended, and what was taken out; and what stands above it. */
export function toldByFiles(
  settings: Settings,
  value: string,
): { readonly files: readonly ToldByFiles[]; readonly above: readonly Above[] } {
  const { entries, vips, expired, excluded, today } = settings;
  const isIt = (one: DeclaredEntry | DeclaredVip): boolean =>
    (one.kind === "vip" ? one.email : one.value) === value;
  const chains = chainsOf(settings);
  const told = (
    one: DeclaredEntry | DeclaredVip,
    state: ToldByFiles["state"],
    removedAt?: ToldByFiles["removedAt"],
  ): ToldByFiles => {
    const { kind, key, place, overrides, expires } = one;
    const entry = one.kind === "entry" ? one : undefined;
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
      ...textsOf(one),
      daysLeft: isDay ? Math.round((Date.parse(expires) - Date.parse(today)) / 86_400_000) : undefined,
    });
  };
  const names = new Set(coveringValues(value));
  return {
    files: [
      ...[...entries, ...vips].filter(isIt).map((one) => told(one, "declared")),
      ...expired.filter(isIt).map((one) => told(one, "expired")),
      ...excluded
        .filter(({ declared }) => isIt(declared))
        .map(({ declared, place }) => told(declared, "removed", place)),
    ],
    above: entries
      .filter((entry) => names.has(entry.value))
      .map(({ list, value: own, verdictScope, place }) => ({ list, value: own, verdictScope, place }))
      .sort((one, other) => other.value.length - one.value.length),
  };
}

/** Of each file, over which ones it is included: the shortest way. */
function chainsOf({ file, files }: Settings): ReadonlyMap<string, readonly string[]> {
  const read = readerFrom(file);
  const known = new Set(files.map((one) => normalize(one)));
  const chains = new Map<string, readonly string[]>([[normalize(file), [file]]]);
  for (const [from, chain] of chains) {
    const { value } = readYaml(read(from).replace(/^\uFEFF/, ""), from);
    const include = (value as { include?: unknown } | undefined)?.include;
    for (const path of Array.isArray(include) ? include : []) {
      const to = join(dirname(from), String(path));
      if (known.has(to) && !chains.has(to)) chains.set(to, [...chain, to]);
    }
  }
  return chains;
}
