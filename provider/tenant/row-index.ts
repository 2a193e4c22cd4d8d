/**
 * The rows of one list by key, and by a second name that several rows may share. Names are expensive to compute, and
 * comparing whole lists doesn't need them. They are therefore computed on first use.
 */
export class RowIndex<Row> {
  readonly #getName: ((row: Row) => string) | undefined;
  readonly #byKey = new Map<string, Row>();
  /** The keys of each name, in the order in which their rows were added. Almost all names have one key. */
  #byName: Map<string, string | Set<string>> | undefined;

  /** @param getName returns the name of a row. Default: rows have no names. */
  constructor(getName?: (row: Row) => string) {
    this.#getName = getName;
  }

  get(key: string): Row | undefined {
    return this.#byKey.get(key);
  }

  getByName(name: string): readonly Row[] {
    return this.#getKeys(name).flatMap((key) => this.#byKey.get(key) ?? []);
  }

  getAll(): Row[] {
    return [...this.#byKey.values()];
  }

  /** Whether both contain a row with the same key. */
  sharesKeyWith(other: RowIndex<Row>): boolean {
    const [smaller, larger] = this.#byKey.size < other.#byKey.size ? [this, other] : [other, this];
    for (const key of smaller.#byKey.keys()) if (larger.#byKey.has(key)) return true;
    return false;
  }

  set(key: string, row: Row): void {
    // A rewritten row comes last among those with its name, so the order of keys no longer matches.
    if (this.#byKey.has(key)) this.#unindexName(key, this.#getKeysByName());
    this.#byKey.set(key, row);
    if (this.#byName !== undefined) this.#indexName(key, row, this.#byName);
  }

  delete(key: string): void {
    if (this.#byName !== undefined) this.#unindexName(key, this.#byName);
    this.#byKey.delete(key);
  }

  deleteByName(name: string): void {
    for (const key of this.#getKeys(name)) this.delete(key);
  }

  #getKeys(name: string): string[] {
    const keys = this.#getKeysByName().get(name) ?? [];
    return typeof keys === "string" ? [keys] : [...keys];
  }

  #getKeysByName(): Map<string, string | Set<string>> {
    if (this.#byName !== undefined) return this.#byName;
    this.#byName = new Map();
    for (const [key, row] of this.#byKey) this.#indexName(key, row, this.#byName);
    return this.#byName;
  }

  #indexName(key: string, row: Row, names: Map<string, string | Set<string>>): void {
    const name = this.#getName?.(row);
    if (name === undefined) return;
    const sameNameKeys = names.get(name);
    if (sameNameKeys === undefined) names.set(name, key);
    else if (typeof sameNameKeys === "string") names.set(name, new Set([sameNameKeys, key]));
    else sameNameKeys.add(key);
  }

  #unindexName(key: string, names: Map<string, string | Set<string>>): void {
    const row = this.#byKey.get(key);
    const name = row === undefined ? undefined : this.#getName?.(row);
    if (name === undefined) return;
    const sameNameKeys = names.get(name);
    if (typeof sameNameKeys === "string") names.delete(name);
    else sameNameKeys?.delete(key);
    if (typeof sameNameKeys === "object" && sameNameKeys.size === 0) names.delete(name);
  }
}
