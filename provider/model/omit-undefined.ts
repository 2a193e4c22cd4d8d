/** Removes the properties that are undefined. A property whose type includes undefined becomes optional. */
export function omitUndefined<T extends object>(object: T): OmitUndefined<T> {
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(object)) {
    const value = (object as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    // An assignment to this name sets the prototype instead of a property.
    if (name === "__proto__") Object.defineProperty(result, name, { ...PROPERTY_ATTRIBUTES, value });
    else result[name] = value;
  }
  return result as OmitUndefined<T>;
}

const PROPERTY_ATTRIBUTES = { configurable: true, enumerable: true, writable: true };

type OmitUndefined<T> = {
  [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name];
} & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};
