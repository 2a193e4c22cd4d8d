import { readFileSync } from "node:fs";
import type { GitReader } from "../../gitops/git";
import type { PlacedElement } from "../../gitops/why-schema";
import { type Change, changesBetween } from "./changes-between";
import type { CommitFiles } from "./commits";
import { ElementFinder } from "./elements";
import type { Version } from "./include-changes";

/** The versions of settings files in git, up to the size limit. */
export class FileVersions {
  readonly #git: GitReader;
  readonly #finder: ElementFinder;
  readonly #versions = new Map<string, Version>();
  #remainingBytes: number;
  #unreadCount = 0;

  constructor(git: GitReader, value: string, maxBytes: number) {
    this.#git = git;
    this.#finder = new ElementFinder(value);
    this.#remainingBytes = maxBytes;
  }

  /** Returns a version by its id; undefined if it was not read. */
  get(id: string): Version | undefined {
    return this.#versions.get(id);
  }

  /** Returns a file's version in a commit. */
  async at(commit: string, path: string): Promise<Version | undefined> {
    for await (const { content } of this.#git.objects([`${commit}:${path}`])) return this.parse(content);
    return undefined;
  }

  /** Returns a file's version in the working tree. Only included files are known. */
  inWorkingTree(file: string | undefined): Version | undefined {
    return file === undefined ? undefined : this.parse(readFileSync(file));
  }

  parse(content: Buffer): Version {
    return { elements: this.#finder.in(content), includes: this.#finder.includesIn(content) };
  }

  /** Returns the changes of the value that a commit made in some files. */
  changesOf(files: CommitFiles["files"]): readonly Change[] {
    const before: PlacedElement[] = [];
    const after: PlacedElement[] = [];
    for (const file of files) {
      const [newElements, ...oldElements] = [file.after, ...file.before].map((id) => this.elementsOf(id, file.path));
      // The merge took this version from one of its parents.
      if (oldElements.some((old) => JSON.stringify(old) === JSON.stringify(newElements))) continue;
      before.push(...(oldElements[0] ?? []));
      after.push(...(newElements ?? []));
    }
    return changesBetween(before, after);
  }

  /** Returns the value's elements in a version; empty if the version was not read. */
  elementsOf(id: string | undefined, path: string): readonly PlacedElement[] {
    return id === undefined ? [] : (this.#versions.get(id)?.elements ?? []).map((element) => ({ ...element, path }));
  }

  /** Reads versions, newest first, up to the size limit. */
  async read(files: CommitFiles["files"]): Promise<void> {
    const ids = files.flatMap(({ after, before }) => [after, ...before]).filter((id) => id !== undefined);
    const pendingIds = [...new Set(ids)].filter((id) => !this.#versions.has(id));
    let readCount = 0;
    if (this.#remainingBytes > 0) {
      for await (const { id, content } of this.#git.objects(pendingIds)) {
        this.#versions.set(id, this.parse(content));
        readCount += 1;
        this.#remainingBytes -= content.length;
        if (this.#remainingBytes <= 0) break;
      }
    }
    this.#unreadCount += pendingIds.length - readCount;
  }

  /** Explains in sentences what the history lacks, and why. */
  async missing(): Promise<readonly string[]> {
    const missing: string[] = [];
    if ((await this.#git.text("rev-parse", "--is-shallow-repository")).trim() === "true")
      missing.push(
        "This clone is shallow: its history ends before the beginning. `git fetch --unshallow` brings the rest.",
      );
    if (this.#unreadCount > 0 && this.#remainingBytes > 0)
      missing.push(
        `${this.#unreadCount} versions of the files are not in this partial clone, so what they changed is not told. \`git fetch --refetch --no-filter\` brings them.`,
      );
    else if (this.#unreadCount > 0)
      missing.push(
        `The history is long: ${this.#unreadCount} older versions of the files were not read. \`git log -S\` searches them.`,
      );
    const { unreadable } = this.#finder;
    if (unreadable > 0)
      missing.push(
        `${unreadable === 1 ? "A version" : `${unreadable} versions`} of the files can't be read where the value stands, a mistake in the YAML: what is told as taken out and added there may have been written all along.`,
      );
    return missing;
  }
}
