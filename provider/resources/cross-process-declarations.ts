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
import { type DirectoryLocation, openPrivateDirectory, type PrivateDirectory } from "../system/private-directory";
import { getMachineId, isRunning } from "../system/processes";

export interface SharingOptions {
  /**
   * Candidate directories for shared files, in order of preference. A directory is used only if it is private to this
   * user.
   */
  readonly directories: readonly DirectoryLocation[];
  /** An id that the processes of one engine run share, and those of other current runs don't. */
  readonly runId: string;
  /** The process that started this one: the engine, or a shell that Pulumi's launcher leaves in between. */
  readonly parentPid: number;
}

/**
 * The declarations of the running program, so that no declared object is deleted.
 *
 * A stack may have several provider processes on one tenant: the default one, and one for each explicit instance. When
 * a resource moves from one to another under a new name, one process adopts what the engine lets the other delete. So the
 * processes of a run share the keys of a tenant in files, which contain only hashes. If no file can be written, each
 * process knows only its own.
 *
 * With another key or host name, one tenant looks like two. So processes also share the ids of objects that they have
 * adopted or created, or that their resources have in state. These ids include the identity of the object, because two
 * tenants may use the same ids.
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

  /** Adds keys. They are shared only if their tenant is known. */
  declare(keys: readonly string[], tenant: string | undefined): void {
    const added = keys.filter((key) => !this.#ownKeys.has(key));
    for (const key of added) this.#ownKeys.add(key);
    this.#shareKeys(added, tenant);
  }

  /** Adds a whole list. Keeps only a function for looking up its keys. */
  declareList(keys: Iterable<string>, has: (key: string) => boolean, tenant: string | undefined): void {
    this.#ownListTests.push(has);
    this.#shareKeys(keys, tenant);
  }

  /** Returns whether this process, or another of the same run on the same tenant, has the key. */
  has(key: string, tenant: string): boolean {
    if (this.isDeclaredHere(key)) return true;
    return this.#getDeclaredKeys(tenant).has(key);
  }

  /** Returns whether this process itself has the key. */
  isDeclaredHere(key: string): boolean {
    return this.#ownKeys.has(key) || this.#ownListTests.some((has) => has(key));
  }

  /**
   * Adds the ids of objects that this process has created, adopted or manages. An id includes the object's identity.
   */
  shareManagedIds(ids: readonly string[]): void {
    const added = ids.filter((id) => !this.#ownManagedIds.has(id));
    for (const id of added) this.#ownManagedIds.add(id);
    this.#managedIds.add(added);
  }

  /** Returns whether another process of the same run has created, adopted or manages the object. */
  isManagedElsewhere(id: string): boolean {
    return !this.#ownManagedIds.has(id) && this.#managedIds.has(id);
  }

  /** Ends the run: removes the files that this process has shared, and closes everything. */
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

/** A set of texts that the processes of a run share, as hashes in one file per parent process. */
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

/** Lines that the processes of a run share, in one file per parent process. */
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

  /** Returns the lines of each file; the same array while the file is unchanged. */
  readFiles(): readonly (readonly string[])[] {
    ignoreErrors(() => {
      const directory = this.#getDirectoryPath();
      // The name starts with the parent's process id, which shows whether the process still exists.
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
    // Later, another directory may have the same descriptor.
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

  /**
   * Opens the file for appending and keeps it open for a while, because the items of a long list are added one by one.
   */
  #getDescriptor(): number {
    // Recreates a file that another process of the run has removed at its end.
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
    if (directory === undefined) throw new Error("there is no directory to share a file in");
    removeStaleFiles(directory.path);
    this.#directory = directory;
    removeAtExit(this.#getPath());
    return directory.path;
  }
}

const filesToRemove = new Set<string>();
let hasExitListener = false;

/** Registers one exit listener for all files, because an attached process starts a session for each run. */
function removeAtExit(file: string): void {
  if (!hasExitListener) {
    hasExitListener = true;
    process.once("exit", () => {
      for (const path of filesToRemove) ignoreErrors(() => rmSync(path, { force: true }));
    });
  }
  filesToRemove.add(file);
}

/** Opens the first directory that is private to this user and writable. */
function openFirstUsable(locations: readonly DirectoryLocation[]): PrivateDirectory | undefined {
  for (const location of locations) {
    let directory: PrivateDirectory | undefined;
    try {
      directory = openPrivateDirectory(location);
      accessSync(directory.path, constants.W_OK);
      return directory;
    } catch {
      directory?.[Symbol.dispose]();
      // Try the next directory.
    }
  }
  return undefined;
}

/** The maximum duration of a run. */
const MAX_RUN_MS = 7 * 86_400_000;

/** Removes the files of past runs, because a provider process is killed and can't clean up. */
function removeStaleFiles(directory: string): void {
  for (const name of readdirSync(directory)) {
    const file = join(directory, name);
    ignoreErrors(() => {
      const [, parent, machine] = /^(\d+)-([0-9a-f]{6})-/.exec(name) ?? [];
      // Process ids of another machine or container are meaningless here.
      const isStale =
        machine === getMachineId() ? !isRunning(Number(parent)) : Date.now() - lstatSync(file).mtimeMs > MAX_RUN_MS;
      if (isStale) rmSync(file, { force: true });
    });
  }
}

/** Returns a short hash for shared files. */
export function shortHash(text: string): string {
  return crypto.hash("sha256", text, "hex").slice(0, 32);
}

/** Sharing is only an additional safeguard, so its failures are ignored. */
function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // Continue without sharing.
  }
}
