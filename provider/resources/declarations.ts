import * as crypto from "node:crypto";
import {
  accessSync,
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { type FolderPlace, type OwnFolder, openOwnFolder } from "../machine/own-folder";
import { isRunning, thisMachine } from "../machine/processes";

export interface DeclarationsOptions {
  /** Where to share files, the first choice first; a folder is taken where it is this user's alone. */
  readonly folders: readonly FolderPlace[];
  /** What the processes of one run of the engine have in common, and those of another that runs now have not. */
  readonly run: string;
  /** The process that started this one: the engine, or the shell in which a launcher of Pulumi's stays between the two. */
  readonly parent: number;
}

/**
 * What the running program declares, so that nothing of it is deleted.
 *
 * A stack may have several provider processes on one tenant: the default one, and one for each explicit instance. When
 * a resource moves from one to another under a new name, the one process adopts what the other is told to delete. So
 * the keys of a tenant are shared by files among the processes of one run; they hold hashes only. Where no file can be
 * written, each process knows its own.
 *
 * By another key, or another name of its host, one tenant looks like two. What a process of the run has taken or made, or
 * what its resources are by the state, is therefore shared too, by its id and what that names: tenants may number theirs alike.
 */
export class Declarations {
  readonly #options: DeclarationsOptions;
  readonly #own = new Set<string>();
  readonly #ownLists: ((key: string) => boolean)[] = [];
  readonly #ownHeld = new Set<string>();
  #declared: SharedSet | undefined;
  readonly #held: SharedSet;

  constructor(options: DeclarationsOptions) {
    this.#options = options;
    this.#held = new SharedSet(options, "held");
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

  /** Whether this process, or another of the same run on the same tenant, was told of the key. */
  has(key: string, tenant: string): boolean {
    if (this.isOwn(key)) return true;
    return this.#declaredOf(tenant).has(key);
  }

  /** Whether the program was heard to declare the key by this very process. */
  isOwn(key: string): boolean {
    return this.#own.has(key) || this.#ownLists.some((has) => has(key));
  }

  /** Remembers what this process has made, taken over, or manages already, by its id and what that names. */
  hold(ids: readonly string[]): void {
    const more = ids.filter((id) => !this.#ownHeld.has(id));
    for (const id of more) this.#ownHeld.add(id);
    this.#held.add(more);
  }

  /** Whether another process of the same run has made it, taken it over, or manages it. */
  isHeldElsewhere(id: string): boolean {
    return !this.#ownHeld.has(id) && this.#held.has(id);
  }

  /** The run is over: what this process has shared of it goes, and nothing stays open. */
  end(): void {
    this.#declared?.end();
    this.#held.end();
  }

  #share(keys: Iterable<string>, tenant: string | undefined): void {
    if (tenant !== undefined) this.#declaredOf(tenant).add(keys);
  }

  #declaredOf(tenant: string): SharedSet {
    this.#declared ??= new SharedSet(this.#options, hash(tenant));
    return this.#declared;
  }
}

const OPEN_MS = 1_000;

/** A set of texts that the processes of a run share by files of their hashes, one for those that have one parent. */
class SharedSet {
  readonly #lines: SharedLines;
  readonly #sets = new WeakMap<readonly string[], ReadonlySet<string>>();

  constructor(options: DeclarationsOptions, name: string) {
    this.#lines = new SharedLines(options, name);
  }

  add(texts: Iterable<string>): void {
    this.#lines.add([...texts].map(hash));
  }

  has(text: string): boolean {
    const wanted = hash(text);
    return this.#lines.files().some((lines) => {
      const set = this.#sets.get(lines) ?? new Set(lines);
      this.#sets.set(lines, set);
      return set.has(wanted);
    });
  }

  end(): void {
    this.#lines.end();
  }
}

/** Lines that the processes of a run share by files, one for those that have one parent. */
export class SharedLines {
  readonly #options: DeclarationsOptions;
  readonly #name: string;
  readonly #read = new Map<string, { readonly size: number; readonly lines: readonly string[] }>();
  #folder: OwnFolder | undefined;
  #open: number | undefined;
  #isOver = false;

  constructor(options: DeclarationsOptions, name: string) {
    this.#options = options;
    this.#name = `${thisMachine()}-${options.run}-${name}`;
  }

  add(lines: readonly string[]): void {
    if (lines.length === 0) return;
    quietly(() => appendFileSync(this.#opened(), lines.map((line) => `${line}\n`).join("")));
  }

  /** The lines of each file; the same array as long as a file is the same. */
  files(): readonly (readonly string[])[] {
    quietly(() => {
      const folder = this.#shared();
      // By the parent before the name, a file is known as that of a process that is gone.
      const files = readdirSync(folder).filter((file) => file.replace(/^\d+-/, "") === this.#name);
      for (const file of files) quietly(() => this.#readAgain(join(folder, file)));
    });
    return [...this.#read.values()].map(({ lines }) => lines);
  }

  end(): void {
    const folder = this.#folder;
    const file = folder && this.#path();
    this.#isOver = true;
    if (folder === undefined || file === undefined) return;
    this.#close();
    quietly(() => rmSync(file, { force: true }));
    // By then the folder's number may be that of another one.
    atExit.delete(file);
    this.#folder = undefined;
    quietly(() => folder[Symbol.dispose]());
  }

  #readAgain(file: string): void {
    const stat = lstatSync(file);
    if (!stat.isFile()) return;
    const { size } = stat;
    if (this.#read.get(file)?.size === size) return;
    this.#read.set(file, { size, lines: readFileSync(file, "utf8").split("\n") });
  }

  /** To be written at its end, and open for a while: what is made of a list of thousands is told one by one. */
  #opened(): number {
    // One that another process of the run has taken away at its end is made anew.
    if (this.#open !== undefined && fstatSync(this.#open).nlink === 0) this.#close();
    if (this.#open === undefined) {
      this.#open = openSync(this.#path(), "a", 0o600);
      setTimeout(() => this.#close(), OPEN_MS).unref();
    }
    return this.#open;
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) quietly(() => closeSync(open));
  }

  #path(): string {
    return join(this.#shared(), `${this.#options.parent}-${this.#name}`);
  }

  #shared(): string {
    if (this.#isOver) throw new Error("the run is over");
    if (this.#folder !== undefined) return this.#folder.path;
    const folder = firstUsable(this.#options.folders);
    if (folder === undefined) throw new Error("there is no folder to share a file in");
    removeForgotten(folder.path);
    this.#folder = folder;
    removedAtExit(this.#path());
    return folder.path;
  }
}

const atExit = new Set<string>();
let isHeard = false;

/** A process that is attached to begins a session for each run. */
function removedAtExit(file: string): void {
  if (!isHeard) {
    isHeard = true;
    process.once("exit", () => {
      for (const one of atExit) quietly(() => rmSync(one, { force: true }));
    });
  }
  atExit.add(file);
}

/** The first folder that is this user's alone, and can be written to. */
function firstUsable(places: readonly FolderPlace[]): OwnFolder | undefined {
  for (const place of places) {
    let folder: OwnFolder | undefined;
    try {
      folder = openOwnFolder(place);
      accessSync(folder.path, constants.W_OK);
      return folder;
    } catch {
      folder?.[Symbol.dispose]();
      // The next one may be.
    }
  }
  return undefined;
}

/** A run lasts less. */
const RUN_MS = 7 * 86_400_000;

/** Takes away what runs have left that are over: a provider process is killed, and can't clean up after itself. */
function removeForgotten(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    quietly(() => {
      const [, parent, machine] = /^(\d+)-([0-9a-f]{6})-/.exec(name) ?? [];
      // Processes of another machine, or of another container, have numbers of their own.
      const isOver =
        machine === thisMachine()
          ? !isRunning(Number(parent))
          : Date.now() - lstatSync(file).mtimeMs > RUN_MS;
      if (isOver) rmSync(file, { force: true });
    });
  }
}

/** A short hash of what is shared in files. */
export function hash(text: string): string {
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
