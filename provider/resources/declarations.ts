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
import { type DirectoryLocation, openPrivateDirectory, type PrivateDirectory } from "../machine/private-directory";
import { getMachineId, isRunning } from "../machine/processes";

export interface SharingOptions {
  /** Where to share files, the first choice first; a folder is taken where it is this user's alone. */
  readonly directories: readonly DirectoryLocation[];
  /** What the processes of one run of the engine have in common, and those of another that runs now have not. */
  readonly runId: string;
  /** The process that started this one: the engine, or the shell in which a launcher of Pulumi's stays between the two. */
  readonly parentPid: number;
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
  readonly #options: SharingOptions;
  readonly #ownKeys = new Set<string>();
  readonly #ownListTests: ((key: string) => boolean)[] = [];
  readonly #ownManagedIds = new Set<string>();
  #declaredKeys: SharedSet | undefined;
  readonly #managedIds: SharedSet;

  constructor(options: SharingOptions) {
    this.#options = options;
    this.#managedIds = new SharedSet(options, "held");
  }

  /** Remembers keys; of which tenant, when that is known yet. */
  declare(keys: readonly string[], tenant: string | undefined): void {
    const added = keys.filter((key) => !this.#ownKeys.has(key));
    for (const key of added) this.#ownKeys.add(key);
    this.#shareKeys(added, tenant);
  }

  /** The same for a whole list, of which nothing is kept but how to look into it. */
  declareList(keys: Iterable<string>, has: (key: string) => boolean, tenant: string | undefined): void {
    this.#ownListTests.push(has);
    this.#shareKeys(keys, tenant);
  }

  /** Whether this process, or another of the same run on the same tenant, was told of the key. */
  has(key: string, tenant: string): boolean {
    if (this.isDeclaredHere(key)) return true;
    return this.#getDeclaredKeys(tenant).has(key);
  }

  /** Whether the program was heard to declare the key by this very process. */
  isDeclaredHere(key: string): boolean {
    return this.#ownKeys.has(key) || this.#ownListTests.some((has) => has(key));
  }

  /** Remembers what this process has made, taken over, or manages already, by its id and what that names. */
  shareManagedIds(ids: readonly string[]): void {
    const added = ids.filter((id) => !this.#ownManagedIds.has(id));
    for (const id of added) this.#ownManagedIds.add(id);
    this.#managedIds.add(added);
  }

  /** Whether another process of the same run has made it, taken it over, or manages it. */
  isManagedElsewhere(id: string): boolean {
    return !this.#ownManagedIds.has(id) && this.#managedIds.has(id);
  }

  /** The run is over: what this process has shared of it goes, and nothing stays open. */
  end(): void {
    this.#declaredKeys?.end();
    this.#managedIds.end();
  }

  #shareKeys(keys: Iterable<string>, tenant: string | undefined): void {
    if (tenant !== undefined) this.#getDeclaredKeys(tenant).add(keys);
  }

  #getDeclaredKeys(tenant: string): SharedSet {
    this.#declaredKeys ??= new SharedSet(this.#options, shortHash(tenant));
    return this.#declaredKeys;
  }
}

const CLOSE_DELAY_MS = 1_000;

/** A set of texts that the processes of a run share by files of their hashes, one for those that have one parent. */
class SharedSet {
  readonly #lines: SharedLines;
  readonly #sets = new WeakMap<readonly string[], ReadonlySet<string>>();

  constructor(options: SharingOptions, name: string) {
    this.#lines = new SharedLines(options, name);
  }

  add(texts: Iterable<string>): void {
    this.#lines.add([...texts].map(shortHash));
  }

  has(text: string): boolean {
    const hashed = shortHash(text);
    return this.#lines.readFiles().some((lines) => {
      const set = this.#sets.get(lines) ?? new Set(lines);
      this.#sets.set(lines, set);
      return set.has(hashed);
    });
  }

  end(): void {
    this.#lines.end();
  }
}

/** Lines that the processes of a run share by files, one for those that have one parent. */
export class SharedLines {
  readonly #options: SharingOptions;
  readonly #name: string;
  readonly #filesByPath = new Map<string, { readonly size: number; readonly lines: readonly string[] }>();
  #directory: PrivateDirectory | undefined;
  #descriptor: number | undefined;
  #isClosed = false;

  constructor(options: SharingOptions, name: string) {
    this.#options = options;
    this.#name = `${getMachineId()}-${options.runId}-${name}`;
  }

  add(lines: readonly string[]): void {
    if (lines.length === 0) return;
    ignoreErrors(() => appendFileSync(this.#getDescriptor(), lines.map((line) => `${line}\n`).join("")));
  }

  /** The lines of each file; the same array as long as a file is the same. */
  readFiles(): readonly (readonly string[])[] {
    ignoreErrors(() => {
      const directory = this.#getDirectoryPath();
      // By the parent before the name, a file is known as that of a process that is gone.
      const readFiles = readdirSync(directory).filter((file) => file.replace(/^\d+-/, "") === this.#name);
      for (const file of readFiles) ignoreErrors(() => this.#refreshFile(join(directory, file)));
    });
    return [...this.#filesByPath.values()].map(({ lines }) => lines);
  }

  end(): void {
    const directory = this.#directory;
    const file = directory && this.#getPath();
    this.#isClosed = true;
    if (directory === undefined || file === undefined) return;
    this.#closeFile();
    ignoreErrors(() => rmSync(file, { force: true }));
    // By then the folder's number may be that of another one.
    filesToRemove.delete(file);
    this.#directory = undefined;
    ignoreErrors(() => directory[Symbol.dispose]());
  }

  #refreshFile(file: string): void {
    const stat = lstatSync(file);
    if (!stat.isFile()) return;
    const { size } = stat;
    if (this.#filesByPath.get(file)?.size === size) return;
    this.#filesByPath.set(file, { size, lines: readFileSync(file, "utf8").split("\n") });
  }

  /** To be written at its end, and open for a while: what is made of a list of thousands is told one by one. */
  #getDescriptor(): number {
    // One that another process of the run has taken away at its end is made anew.
    if (this.#descriptor !== undefined && fstatSync(this.#descriptor).nlink === 0) this.#closeFile();
    if (this.#descriptor === undefined) {
      this.#descriptor = openSync(this.#getPath(), "a", 0o600);
      setTimeout(() => this.#closeFile(), CLOSE_DELAY_MS).unref();
    }
    return this.#descriptor;
  }

  #closeFile(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    if (descriptor !== undefined) ignoreErrors(() => closeSync(descriptor));
  }

  #getPath(): string {
    return join(this.#getDirectoryPath(), `${this.#options.parentPid}-${this.#name}`);
  }

  #getDirectoryPath(): string {
    if (this.#isClosed) throw new Error("the run is over");
    if (this.#directory !== undefined) return this.#directory.path;
    const directory = openFirstUsable(this.#options.directories);
    if (directory === undefined) throw new Error("there is no folder to share a file in");
    removeStaleFiles(directory.path);
    this.#directory = directory;
    removeAtExit(this.#getPath());
    return directory.path;
  }
}

const filesToRemove = new Set<string>();
let hasExitListener = false;

/** A process that is attached to begins a session for each run. */
function removeAtExit(file: string): void {
  if (!hasExitListener) {
    hasExitListener = true;
    process.once("exit", () => {
      for (const path of filesToRemove) ignoreErrors(() => rmSync(path, { force: true }));
    });
  }
  filesToRemove.add(file);
}

/** The first folder that is this user's alone, and can be written to. */
function openFirstUsable(locations: readonly DirectoryLocation[]): PrivateDirectory | undefined {
  for (const location of locations) {
    let directory: PrivateDirectory | undefined;
    try {
      directory = openPrivateDirectory(location);
      accessSync(directory.path, constants.W_OK);
      return directory;
    } catch {
      directory?.[Symbol.dispose]();
      // The next one may be.
    }
  }
  return undefined;
}

/** A run lasts less. */
const MAX_RUN_MS = 7 * 86_400_000;

/** Takes away what runs have left that are over: a provider process is killed, and can't clean up after itself. */
function removeStaleFiles(directory: string): void {
  for (const name of readdirSync(directory)) {
    const file = join(directory, name);
    ignoreErrors(() => {
      const [, parent, machine] = /^(\d+)-([0-9a-f]{6})-/.exec(name) ?? [];
      // Processes of another machine, or of another container, have numbers of their own.
      const isStale =
        machine === getMachineId() ? !isRunning(Number(parent)) : Date.now() - lstatSync(file).mtimeMs > MAX_RUN_MS;
      if (isStale) rmSync(file, { force: true });
    });
  }
}

/** A short hash of what is shared in files. */
export function shortHash(text: string): string {
  return crypto.hash("sha256", text, "hex").slice(0, 32);
}

/** What is shared is a further safety; that it can't be shared is no failure. */
function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // As before the call.
  }
}
