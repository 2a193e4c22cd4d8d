/** The name of a field of the service as Pulumi programs write it: `count_threats` becomes `countThreats`. */
type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;

/** What the service answers, with names as Pulumi programs write them, all the way down. */
export type CamelCased<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? CamelCased<Item>[]
    : { [Name in keyof T as CamelCase<Name>]: CamelCased<T[Name]> };

/** Renames the fields of what the service answered, all the way down. Fields that are undefined are left out. */
export function camelCaseKeys<T>(value: T): CamelCased<T> {
  return renameFields(value) as CamelCased<T>;
}

function renameFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renameFields);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, property]) => property !== undefined);
  return Object.fromEntries(entries.map(([name, property]) => [toCamelCase(name), renameFields(property)]));
}

/** `count_threats` as Pulumi programs write it. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}
