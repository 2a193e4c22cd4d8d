/** The name of a service field in Pulumi programs: `count_threats` becomes `countThreats`. */
type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;

/** A response of the service with names as in Pulumi programs, at all levels. */
export type CamelCased<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? CamelCased<Item>[]
    : { [Name in keyof T as CamelCase<Name>]: CamelCased<T[Name]> };

/** Renames the fields of a response at all levels. Undefined fields are omitted. */
export function camelCaseKeys<T>(value: T): CamelCased<T> {
  return renameFields(value) as CamelCased<T>;
}

function renameFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renameFields);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, property]) => property !== undefined);
  return Object.fromEntries(entries.map(([name, property]) => [toCamelCase(name), renameFields(property)]));
}

/** Returns the name in Pulumi programs: `countThreats` for `count_threats`. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}
