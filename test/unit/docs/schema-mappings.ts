/** A JSON schema, limited to its keys. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/**
 * Returns the keys of each mapping that a JSON schema describes, by path: `""` is the root, `waves[]` an element of a
 * list, and `tenants.*` the value of any key.
 */
export function collectMappings(schema: Schema, path = ""): Map<string, string[]> {
  const { properties, additionalProperties, items, anyOf = [] } = schema;
  const joinPath = (name: string) => (path === "" ? name : `${path}.${name}`);
  const parts: (readonly [Schema, string])[] = [
    ...Object.entries(properties ?? {}).map(([name, item]) => [item, joinPath(name)] as const),
    ...(typeof additionalProperties === "object" ? [[additionalProperties, joinPath("*")] as const] : []),
    ...(items === undefined ? [] : [[items, `${path}[]`] as const]),
    ...anyOf.map((item) => [item, path] as const),
  ];
  return new Map([
    ...(properties === undefined ? [] : [[path, Object.keys(properties)] as const]),
    ...parts.flatMap(([item, location]) => [...collectMappings(item, location)]),
  ]);
}
