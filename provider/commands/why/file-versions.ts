import { readFileSync } from "node:fs";
import type { GitReader } from "../../gitops/git";
import type { FileElement } from "../../gitops/why-schema";
import { diffElements, type ElementChange } from "./diff-elements";
import { ElementFinder } from "./element-finder";
import type { FileVersion } from "./include-history";
import type { CommitFiles } from "./read-commits";

/** The versions of settings files in git, up to the size limit. */
export class FileVersions {
  readonly #git: GitReader;
  readonly #finder: ElementFinder;
  readonly #versions = new Map<string, FileVersion>();
  #remainingBytes: number;
  #unreadCount = 0;

  constructor(git: GitReader, value: string, maxBytes: number) {
    this.#git = git;
    this.#finder = new ElementFinder(value);
    this.#remainingBytes = maxBytes;
  }

  /** Returns a version by its id; undefined if it was not read. */
  get(id: string): FileVersion | undefined {
    return this.#versions.get(id);
  }

  /** Returns a file's version in a commit. */
  async readAtCommit(commit: string, path: string): Promise<FileVersion | undefined> {
    for await (const { content } of this.#git.readObjects([`${commit}:${path}`])) return this.parse(content);
    return undefined;
  }

  /** Returns a file's version in the working tree. Only included files are known. */
  readWorkingTree(file: string | undefined): FileVersion | undefined {
    return file === undefined ? undefined : this.parse(readFileSync(file));
  }

  parse(content: Buffer): FileVersion {
    return { elements: this.#finder.findElements(content), includes: this.#finder.findIncludes(content) };
  }

  getChanges(files: CommitFiles["files"]): readonly ElementChange[] {
    const before: FileElement[] = [];
    const after: FileElement[] = [];
    for (const file of files) {
      const [newElements, ...oldElements] = [file.after, ...file.before].map((id) => this.getElements(id, file.path));
      // The merge took this version from one of its parents.
      if (oldElements.some((old) => JSON.stringify(old) === JSON.stringify(newElements))) continue;
      before.push(...(oldElements[0] ?? []));
      after.push(...(newElements ?? []));
    }
    return diffElements(before, after);
  }

  /** Returns the value's elements in a version; empty if the version was not read. */
  getElements(id: string | undefined, path: string): readonly FileElement[] {
    return id === undefined ? [] : (this.#versions.get(id)?.elements ?? []).map((element) => ({ ...element, path }));
  }

  /** Reads versions, newest first, up to the size limit. */
  async read(files: CommitFiles["files"]): Promise<void> {
    const ids = files.flatMap(({ after, before }) => [after, ...before]).filter((id) => id !== undefined);
    const pendingIds = [...new Set(ids)].filter((id) => !this.#versions.has(id));
    let readCount = 0;
    if (this.#remainingBytes > 0) {
      for await (const { id, content } of this.#git.readObjects(pendingIds)) {
        this.#versions.set(id, this.parse(content));
        readCount += 1;
        this.#remainingBytes -= content.length;
        if (this.#remainingBytes <= 0) break;
      }
    }
    this.#unreadCount += pendingIds.length - readCount;
  }

  /** Explains in sentences what the history lacks, and why. */
  async describeGaps(): Promise<readonly string[]> {
    const missing: string[] = [];
    if ((await this.#git.run("rev-parse", "--is-shallow-repository")).trim() === "true")
      missing.push("This clone is shallow, so its history is incomplete. `git fetch --unshallow` fetches the rest.");
    if (this.#unreadCount > 0 && this.#remainingBytes > 0)
      missing.push(
        `${this.#unreadCount} versions of the files are missing in this partial clone, so their changes aren't shown. \`git fetch --refetch --no-filter\` fetches them.`,
      );
    else if (this.#unreadCount > 0)
      missing.push(
        `The history is long: ${this.#unreadCount} older versions of the files were not read. \`git log -S\` searches all versions.`,
      );
    const { unreadableCount } = this.#finder;
    if (unreadableCount > 0)
      missing.push(
        `${unreadableCount === 1 ? "A version" : `${unreadableCount} versions`} of the files can't be read at the value, because the YAML is invalid there. The value may have been declared all along, although the history shows a removal and an addition.`,
      );
    return missing;
  }
}
