import * as crypto from "node:crypto";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export interface DeclarationsOptions {
  /** A folder that only this user can write to. */
  readonly folder: string;
  /**
   * What the processes of one run of the engine have in common, and those of another have not. It begins with the number
   * of the engine's process.
   */
  readonly run: string;
}

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
  readonly #ownLists: ((key: string) => boolean)[] = [];
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
    this.#share(more, tenant);
  }

  /** The same for a whole list, of which nothing is kept but how to look into it. */
  declareList(keys: Iterable<string>, has: (key: string) => boolean, tenant: string | undefined): void {
    this.#ownLists.push(has);
    this.#share(keys, tenant);
  }

  #share(keys: Iterable<string>, tenant: string | undefined): void {
    if (tenant === undefined) return;
    let lines = "";
    for (const key of keys) lines += `${hash(key)}\n`;
    if (lines !== "") quietly(() => appendFileSync(this.#fileOf(tenant), lines, { mode: 0o600 }));
  }

  /** Whether this process, or another of the same run on the same tenant, was told of the key. */
  has(key: string, tenant: string): boolean {
    if (this.#own.has(key) || this.#ownLists.some((has) => has(key))) return true;
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

/** Takes away what runs have left that are over: a provider process is killed, and can't clean up after itself. */
function removeForgotten(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!isRunning(Number.parseInt(name, 10))) quietly(() => rmSync(join(folder, name), { force: true }));
  }
}

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // One of another user runs, and may not be asked.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function hash(text: string): string {
  return crypto.hash("sha256", text, "hex").slice(0, 32);
}

/** What is shared is a further safety; that it can't be shared is no failure. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // As before the call.
  }
}
