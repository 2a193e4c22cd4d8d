/**
 * The rows of one list by their key, and by a second name that several rows may share. A row's name takes longer to work out
 * than all else here, and whoever compares whole lists asks for none: they are worked out when the first is asked for.
 */
export class Rows<Row> {
  readonly #getName: ((row: Row) => string) | undefined;
  readonly #byKey = new Map<string, Row>();
  /** The keys of each name, in the order their rows came in; almost all names have one. */
  #byName: Map<string, string | Set<string>> | undefined;

  /** @param getName Without it no row has a name. */
  constructor(getName?: (row: Row) => string) {
    this.#getName = getName;
  }

  get(key: string): Row | undefined {
    return this.#byKey.get(key);
  }

  /** The rows of that name, in the order they came in. */
  getByName(getName: string): readonly Row[] {
    return this.#getKeys(getName).flatMap((key) => this.#byKey.get(key) ?? []);
  }

  /** All rows, in the order their keys came in. */
  getAll(): Row[] {
    return [...this.#byKey.values()];
  }

  /** Whether both have a row of the same key. */
  hasKeyOf(other: Rows<Row>): boolean {
    const [smaller, larger] = this.#byKey.size < other.#byKey.size ? [this, other] : [other, this];
    for (const key of smaller.#byKey.keys()) if (larger.#byKey.has(key)) return true;
    return false;
  }

  set(key: string, row: Row): void {
    // Of rows of one name, one that is written anew comes last: the order of the keys no longer tells that.
    if (this.#byKey.has(key)) this.#unindexName(key, this.#getKeysByName());
    this.#byKey.set(key, row);
    if (this.#byName !== undefined) this.#indexName(key, row, this.#byName);
  }

  delete(key: string): void {
    if (this.#byName !== undefined) this.#unindexName(key, this.#byName);
    this.#byKey.delete(key);
  }

  /** Takes out all rows of that name. */
  deleteByName(getName: string): void {
    for (const key of this.#getKeys(getName)) this.delete(key);
  }

  #getKeys(getName: string): string[] {
    const keys = this.#getKeysByName().get(getName) ?? [];
    return typeof keys === "string" ? [keys] : [...keys];
  }

  #getKeysByName(): Map<string, string | Set<string>> {
    if (this.#byName !== undefined) return this.#byName;
    this.#byName = new Map();
    for (const [key, row] of this.#byKey) this.#indexName(key, row, this.#byName);
    return this.#byName;
  }

  #indexName(key: string, row: Row, names: Map<string, string | Set<string>>): void {
    const getName = this.#getName?.(row);
    if (getName === undefined) return;
    const sameNameKeys = names.get(getName);
    if (sameNameKeys === undefined) names.set(getName, key);
    else if (typeof sameNameKeys === "string") names.set(getName, new Set([sameNameKeys, key]));
    else sameNameKeys.add(key);
  }

  #unindexName(key: string, names: Map<string, string | Set<string>>): void {
    const row = this.#byKey.get(key);
    const getName = row === undefined ? undefined : this.#getName?.(row);
    if (getName === undefined) return;
    const sameNameKeys = names.get(getName);
    if (typeof sameNameKeys === "string") names.delete(getName);
    else sameNameKeys?.delete(key);
    if (typeof sameNameKeys === "object" && sameNameKeys.size === 0) names.delete(getName);
  }
}
