export type DocIndex = Readonly<Record<string, DeclarationDoc>>;

export interface DeclarationDoc {
  readonly text: string;
  readonly members: Readonly<Record<string, MemberDoc>>;
  /** For a function: the type of its first argument, as written. */
  readonly args?: string;
  /** For a function: the type of its result, as written. */
  readonly result?: string;
}

export interface MemberDoc {
  readonly text: string;
  /** Its type, as written. */
  readonly type: string;
}

/**
 * Returns the JSDoc of a declaration.
 *
 * @throws {Error} if there is none.
 */
export function getDoc(docs: DocIndex, name: string): DeclarationDoc {
  const doc = docs[name];
  if (doc === undefined) throw new Error(`${name} isn't declared in any of the files whose JSDoc the schema uses.`);
  if (doc.text === "") throw new Error(`${name} has no JSDoc, which the schema needs for its description.`);
  return doc;
}

/**
 * Returns the text of each property in a schema. Schema and JSDoc must have the same properties, so that validation and
 * documentation can't diverge.
 *
 * @throws {Error} that names each property that only one of them has, or that has no text.
 */
export function getMemberTexts(
  docs: DocIndex,
  name: string,
  properties: readonly string[],
): ReadonlyMap<string, string> {
  const { members } = getDoc(docs, name);
  const undocumented = properties.filter((property) => !members[property]?.text);
  const unknownMembers = Object.keys(members).filter((member) => !properties.includes(member));
  if (undocumented.length > 0) throw new Error(`${name} doesn't document ${undocumented.join(", ")}. Add JSDoc there.`);
  if (unknownMembers.length > 0) {
    throw new Error(`${name} documents ${unknownMembers.join(", ")}, but the validation schema does not have it.`);
  }
  return new Map(properties.map((property) => [property, members[property]?.text ?? ""]));
}
