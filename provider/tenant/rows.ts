/** The rows of one list by their key, and by a second name that several rows may share. */
export class Rows<Row> {
  readonly #name: (row: Row) => string;
  readonly #byKey = new Map<string, Row>();
  readonly #byName = new Map<string, Map<string, Row>>();

  constructor(name: (row: Row) => string) {
    this.#name = name;
  }

  get(key: string): Row | undefined {
    return this.#byKey.get(key);
  }

  /** The rows of that name, in the order they came in. */
  named(name: string): readonly Row[] {
    return [...(this.#byName.get(name)?.values() ?? [])];
  }

  set(key: string, row: Row): void {
    this.delete(key);
    this.#byKey.set(key, row);
    const name = this.#name(row);
    const same = this.#byName.get(name) ?? new Map<string, Row>();
    same.set(key, row);
    this.#byName.set(name, same);
  }

  delete(key: string): void {
    const row = this.#byKey.get(key);
    if (row === undefined) return;
    this.#byKey.delete(key);
    const name = this.#name(row);
    const same = this.#byName.get(name);
    same?.delete(key);
    if (same?.size === 0) this.#byName.delete(name);
  }
}
