/** What the JSDoc of the sources says, by the name of what they declare. */
export type DocIndex = Readonly<Record<string, DeclarationDoc>>;

/** What the JSDoc says of one interface, class, function, type or constant. */
export interface DeclarationDoc {
  readonly text: string;
  readonly members: Readonly<Record<string, MemberDoc>>;
  /** Of a function: the type of its first argument, as written. */
  readonly args?: string;
  /** Of a function: the type of what it answers, as written. */
  readonly result?: string;
}

/** A property of an interface or a class. */
export interface MemberDoc {
  readonly text: string;
  /** Its type, as written. */
  readonly type: string;
}

/**
 * What is said of a declaration.
 *
 * @throws {Error} when nothing is.
 */
export function getDoc(docs: DocIndex, name: string): DeclarationDoc {
  const doc = docs[name];
  if (doc === undefined) throw new Error(`${name} is declared in none of the files that words are read from.`);
  if (doc.text === "") throw new Error(`${name} has no JSDoc, which the schema would say of it.`);
  return doc;
}

/**
 * What is said of each property that a schema has, and of no other: so what checks and what tells of it can't drift apart.
 *
 * @throws {Error} that names each property of which only one of the two knows, or that has no words.
 */
export function getMemberTexts(
  docs: DocIndex,
  name: string,
  properties: readonly string[],
): ReadonlyMap<string, string> {
  const { members } = getDoc(docs, name);
  const undocumented = properties.filter((property) => !members[property]?.text);
  const unknownMembers = Object.keys(members).filter((member) => !properties.includes(member));
  if (undocumented.length > 0)
    throw new Error(`${name} says nothing of ${undocumented.join(", ")}. Give it JSDoc there.`);
  if (unknownMembers.length > 0) {
    throw new Error(`${name} tells of ${unknownMembers.join(", ")}, which the schema that checks it does not have.`);
  }
  return new Map(properties.map((property) => [property, members[property]?.text ?? ""]));
}
