import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { nameOf, type Shard } from "#long/shards";

/** What did not do what it must, and how it is run again. */
export interface ShardFailure {
  /** What runs it again, as `npm run test:long` takes it: one case where it is known which. */
  readonly again: string;
  readonly name: string;
  /** The first lines of what was said. */
  readonly message: string;
}

/** How the last run of a shard ended. */
export interface ShardResult extends Shard {
  readonly seed: number;
  /** How many cases the part had. */
  readonly of: number;
  /** What was tested: a digest of all files that it is made of. */
  readonly sources: string;
  /** The commit that was there, with a `+` where files beside it were tested. */
  readonly commit: string;
  readonly date: string;
  readonly seconds: number;
  /** How many cases have passed. */
  readonly done: number;
  /** The tests that have passed, by their names. */
  readonly passed: readonly string[];
  readonly failures: readonly ShardFailure[];
}

/**
 * What was run so far, in a file. It is written whole after each shard, and read again before that: who runs another part at
 * the same time takes nothing away.
 */
export class ShardJournal {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  entries(): readonly ShardResult[] {
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as ShardResult[];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw new Error(`The journal ${this.#file} can't be read. Remove it, and all begins anew.`, {
        cause: error,
      });
    }
  }

  /** Keeps how a shard ended, in the place of its run before. */
  keep(entry: ShardResult): void {
    const others = this.entries().filter((one) => keyOf(one) !== keyOf(entry));
    mkdirSync(dirname(this.#file), { recursive: true });
    const temporary = `${this.#file}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify([...others, entry], null, 2));
    renameSync(temporary, this.#file);
  }
}

/** The last run of a shard. */
export function entryOf(
  shard: Shard,
  { entries, seed, of }: { readonly entries: readonly ShardResult[]; readonly seed: number; readonly of: number },
): ShardResult | undefined {
  const key = keyOf({ ...shard, seed, of });
  return entries.find((entry) => keyOf(entry) === key);
}

/** Other cases come into another order: they are told apart by how many there are. */
function keyOf(one: Shard & Pick<ShardResult, "seed" | "of">): string {
  return `${nameOf(one)} of ${one.of}, seed ${one.seed}`;
}
