/**
 * The rows of one list by key, and by a secondary name that several rows may share. Names are expensive to compute and unused
 * when whole lists are compared, so they are computed on first use.
 */
export class Rows<Row> {
  readonly #name: ((row: Row) => string) | undefined;
  readonly #byKey = new Map<string, Row>();
  /** The keys of each name, in insertion order; almost all names have one. */
  #byName: Map<string, string | Set<string>> | undefined;

  /** @param name returns a row's name. Default: rows have no names. */
  constructor(name?: (row: Row) => string) {
    this.#name = name;
  }

  get(key: string): Row | undefined {
    return this.#byKey.get(key);
  }

  /** Returns the rows of a name, in insertion order. */
  named(name: string): readonly Row[] {
    return this.#keysOf(name).flatMap((key) => this.#byKey.get(key) ?? []);
  }

  /** Returns all rows, in the insertion order of their keys. */
  all(): Row[] {
    return [...this.#byKey.values()];
  }

  set(key: string, row: Row): void {
    // A rewritten row comes last among rows of its name, which the order of keys no longer shows.
    if (this.#byKey.has(key)) this.#unname(key, this.#names());
    this.#byKey.set(key, row);
    if (this.#byName !== undefined) this.#addName(key, row, this.#byName);
  }

  delete(key: string): void {
    if (this.#byName !== undefined) this.#unname(key, this.#byName);
    this.#byKey.delete(key);
  }

  deleteNamed(name: string): void {
    for (const key of this.#keysOf(name)) this.delete(key);
  }

  #keysOf(name: string): string[] {
    const keys = this.#names().get(name) ?? [];
    return typeof keys === "string" ? [keys] : [...keys];
  }

  #names(): Map<string, string | Set<string>> {
    if (this.#byName !== undefined) return this.#byName;
    this.#byName = new Map();
    for (const [key, row] of this.#byKey) this.#addName(key, row, this.#byName);
    return this.#byName;
  }

  #addName(key: string, row: Row, names: Map<string, string | Set<string>>): void {
    const name = this.#name?.(row);
    if (name === undefined) return;
    const same = names.get(name);
    if (same === undefined) names.set(name, key);
    else if (typeof same === "string") names.set(name, new Set([same, key]));
    else same.add(key);
  }

  #unname(key: string, names: Map<string, string | Set<string>>): void {
    const row = this.#byKey.get(key);
    const name = row === undefined ? undefined : this.#name?.(row);
    if (name === undefined) return;
    const same = names.get(name);
    if (typeof same === "string") names.delete(name);
    else same?.delete(key);
    if (typeof same === "object" && same.size === 0) names.delete(name);
  }
}
