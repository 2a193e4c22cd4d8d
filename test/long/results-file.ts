import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * The last result for each key, in a file. The file is rewritten after each result and reread just before, so that a
 * concurrent run of another part loses nothing.
 */
export class ResultsFile<Result> {
  readonly #file: string;
  readonly #keyOf: (result: Result) => string;

  constructor(file: string, keyOf: (result: Result) => string) {
    this.#file = file;
    this.#keyOf = keyOf;
  }

  readEntries(): readonly Result[] {
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as Result[];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw new Error(`The journal ${this.#file} can't be read. Remove it to start from scratch.`, { cause: error });
    }
  }

  /** Stores a result in place of the previous one of its key. */
  keep(result: Result): void {
    const key = this.#keyOf(result);
    const others = this.readEntries().filter((entry) => this.#keyOf(entry) !== key);
    mkdirSync(dirname(this.#file), { recursive: true });
    const temporary = `${this.#file}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify([...others, result], null, 2));
    renameSync(temporary, this.#file);
  }
}
