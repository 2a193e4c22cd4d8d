import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export interface DeclarationsOptions {
  /** A folder that only this user can write to. */
  readonly folder: string;
  /** What the processes of one run of the engine have in common, and those of another have not. */
  readonly run: string;
}

/** Files of runs that ended without a chance to clean up are taken away after this time. */
const FORGOTTEN_AFTER_MS = 24 * 3600 * 1000;

/**
 * What the running program declares, so that nothing of it is deleted.
 *
 * A stack may have several provider processes on one tenant: the default one, and one for each explicit instance. When
 * a resource moves from one to another under a new name, the one process adopts what the other is told to delete. So
 * the keys of a tenant are shared by a file among the processes of one run; it holds hashes only. Where no file can be
 * written, each process knows its own.
 */
export class Declarations {
  readonly #options: DeclarationsOptions;
  readonly #own = new Set<string>();
  #shared = new Set<string>();
  #sharedSize = 0;
  #file: string | undefined;

  constructor(options: DeclarationsOptions) {
    this.#options = options;
  }

  /** Remembers keys; of which tenant, when that is known yet. */
  declare(keys: readonly string[], tenant: string | undefined): void {
    const more = keys.filter((key) => !this.#own.has(key));
    for (const key of more) this.#own.add(key);
    if (tenant === undefined || more.length === 0) return;
    const lines = more.map((key) => `${hash(key)}\n`).join("");
    quietly(() => appendFileSync(this.#fileOf(tenant), lines, { mode: 0o600 }));
  }

  /** Whether this process, or another of the same run on the same tenant, was told of the key. */
  has(key: string, tenant: string): boolean {
    if (this.#own.has(key)) return true;
    quietly(() => {
      const file = this.#fileOf(tenant);
      const { size } = statSync(file);
      if (size === this.#sharedSize) return;
      this.#shared = new Set(readFileSync(file, "utf8").split("\n"));
      this.#sharedSize = size;
    });
    return this.#shared.has(hash(key));
  }

  #fileOf(tenant: string): string {
    if (this.#file !== undefined) return this.#file;
    const { folder, run } = this.#options;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeForgotten(folder);
    const file = join(folder, `${run}-${hash(tenant)}`);
    this.#file = file;
    process.once("exit", () => quietly(() => rmSync(file, { force: true })));
    return file;
  }
}

function removeForgotten(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    quietly(() => {
      if (Date.now() - statSync(file).mtimeMs > FORGOTTEN_AFTER_MS) rmSync(file, { force: true });
    });
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** What is shared is a further safety; that it can't be shared is no failure. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // As before the call.
  }
}
