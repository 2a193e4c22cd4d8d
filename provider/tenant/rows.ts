/** The rows of one list by their key, and by a second name that several rows may share. */
export class Rows<Row> {
  readonly #name: ((row: Row) => string) | undefined;
  readonly #byKey = new Map<string, Named<Row>>();
  readonly #byName = new Map<string, Map<string, Row>>();

  /** @param name Asked once a row; without it no row has a name. */
  constructor(name?: (row: Row) => string) {
    this.#name = name;
  }

  get(key: string): Row | undefined {
    return this.#byKey.get(key)?.row;
  }

  /** The rows of that name, in the order they came in. */
  named(name: string): readonly Row[] {
    return [...(this.#byName.get(name)?.values() ?? [])];
  }

  /** All rows, in the order their keys came in. */
  all(): Row[] {
    return Array.from(this.#byKey.values(), ({ row }) => row);
  }

  set(key: string, row: Row): void {
    this.#unname(key);
    const name = this.#name?.(row);
    this.#byKey.set(key, { row, name });
    if (name === undefined) return;
    const same = this.#byName.get(name);
    if (same === undefined) this.#byName.set(name, new Map([[key, row]]));
    else same.set(key, row);
  }

  delete(key: string): void {
    this.#unname(key);
    this.#byKey.delete(key);
  }

  /** Takes out all rows of that name. */
  deleteNamed(name: string): void {
    for (const key of [...(this.#byName.get(name)?.keys() ?? [])]) this.delete(key);
  }

  #unname(key: string): void {
    const name = this.#byKey.get(key)?.name;
    if (name === undefined) return;
    const same = this.#byName.get(name);
    same?.delete(key);
    if (same?.size === 0) this.#byName.delete(name);
  }
}

interface Named<Row> {
  readonly row: Row;
  readonly name: string | undefined;
}
