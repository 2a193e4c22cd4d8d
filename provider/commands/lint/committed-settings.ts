import { basename, dirname, join, posix, relative, resolve, sep } from "node:path";
import type { GitReader } from "../../gitops/git";
import { METADATA_FIELD_NAMES } from "../../settings-files/element-fields";
import { getDeclarationKey, getFileDeclarations } from "../../settings-files/file-declarations";
import { type ParsedSettingsFile, parseSettingsFile } from "../../settings-files/parsed-settings-file";
import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";
import { isFinding, readYamlFile, validateIncludePath } from "../../settings-files/read-yaml-file";
import { resolveLinks } from "../../settings-files/repository";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import type { Policy } from "../../settings-files/settings-schema";

export class CommittedSettings {
  readonly #top: string;
  readonly #blobIds: ReadonlyMap<string, string>;
  readonly #git: GitReader;
  readonly #today: string;
  readonly #texts = new Map<string, string>();
  readonly #fileFingerprints = new Map<string, ReadonlyMap<string, string>>();
  readonly #tenantFingerprints = new Map<string, ReadonlyMap<string, string>>();
  readonly #drafts = new Map<string, Settings>();
  readonly #cache: SettingsReadCache = new Map();

  private constructor(top: string, git: GitReader, ids: ReadonlyMap<string, string>, today: string) {
    this.#top = top;
    this.#git = git;
    this.#blobIds = ids;
    this.#today = today;
  }

  /**
   * Reads files of a commit and everything that they include there.
   *
   * @param files relative to the working directory; files that the commit lacks are skipped.
   * @throws {GitError} when the commit is missing here.
   */
  static async read(
    git: GitReader,
    { top, commit, today }: { readonly top: string; readonly commit: string; readonly today: string },
    files: readonly string[],
  ): Promise<CommittedSettings> {
    const tree = await git.run("ls-tree", "-r", "-z", "--full-tree", commit);
    const ids = new Map<string, string>();
    for (const line of tree.split("\0")) {
      // `100644 blob <id>\t<path>`; symbolic links are skipped because their content is a path.
      const [, id, path] = /^100\d{3} blob ([\da-f]+)\t(.+)$/s.exec(line) ?? [];
      if (id !== undefined && path !== undefined && /\.(?:ya?ml|json)$/i.test(path)) ids.set(path, id);
    }
    const settings = new CommittedSettings(top, git, ids, today);
    await settings.#readFiles(files.map((file) => settings.#toRepositoryPath(file)));
    return settings;
  }

  has(file: string): boolean {
    return this.#texts.has(this.#toRepositoryPath(file));
  }

  /** Returns whether the file exists and no file that was read includes it. */
  isTopFile(file: string): boolean {
    const path = this.#toRepositoryPath(file);
    return this.#texts.has(path) && ![...this.#texts.keys()].some((key) => this.#listIncludes(key).includes(path));
  }

  /** Returns the files in the same directory, relative to the working directory. */
  getSiblings(file: string): readonly string[] {
    const path = this.#toRepositoryPath(file);
    return this.#toRelativePaths(
      [...this.#texts.keys()].filter((key) => key !== path && posix.dirname(key) === posix.dirname(path)),
    );
  }

  /** Returns all files that were read, relative to the working directory. */
  listFiles(): readonly string[] {
    return this.#toRelativePaths([...this.#texts.keys()]);
  }

  #toRelativePaths(paths: readonly string[]): readonly string[] {
    return paths.map((path) => relative(process.cwd(), join(this.#top, path)));
  }

  /**
   * Returns whether a tenant's file, with its includes, contains an identical declaration. For a new tenant, the file
   * with the declaration is checked. The review date and the file that holds the declaration don't matter.
   */
  hasDeclaration(top: string, declaration: DeclaredEntry | DeclaredVip): boolean {
    const fingerprints = this.has(top)
      ? this.#getTenantFingerprints(top)
      : this.#getFileFingerprints(declaration.location.file);
    return fingerprints.get(getDeclarationKey(declaration)) === buildFingerprint(declaration);
  }

  /** Returns the policy of a file and its includes; empty if it can't be read. */
  getPolicy(file: string): Policy {
    return this.#getDraft(file)?.policy ?? {};
  }

  #getDraft(file: string): Settings | undefined {
    const cached = this.#drafts.get(file);
    if (cached !== undefined) return cached;
    const { draft } = inspectSettings(file, {
      today: this.#today,
      ownDomains: [],
      shouldCrossCheck: false,
      readFile: (path) => this.#getText(path),
      cache: this.#cache,
    });
    if (draft !== undefined) this.#drafts.set(file, draft);
    return draft;
  }

  #getTenantFingerprints(top: string): ReadonlyMap<string, string> {
    const cached = this.#tenantFingerprints.get(top);
    if (cached !== undefined) return cached;
    const { entries = [], vips = [] } = this.#getDraft(top) ?? {};
    const fingerprints = collectFingerprints([...entries, ...vips]);
    this.#tenantFingerprints.set(top, fingerprints);
    return fingerprints;
  }

  #getFileFingerprints(file: string): ReadonlyMap<string, string> {
    const cached = this.#fileFingerprints.get(file);
    if (cached !== undefined) return cached;
    const parsed = this.#parseFile(file);
    const fingerprints = collectFingerprints(
      parsed?.content === undefined ? [] : getFileDeclarations(parsed, parsed.content, this.#today).declarations,
    );
    this.#fileFingerprints.set(file, fingerprints);
    return fingerprints;
  }

  #parseFile(file: string): ParsedSettingsFile | undefined {
    if (!this.has(file)) return undefined;
    const source = readYamlFile(file, { readFile: (path) => this.#getText(path) }, undefined);
    return isFinding(source) ? undefined : parseSettingsFile(source);
  }

  #getText(file: string): string {
    const text = this.#texts.get(this.#toRepositoryPath(file));
    if (text === undefined) throw Object.assign(new Error("the file doesn't exist"), { code: "ENOENT" });
    return text;
  }

  /** Reads files, the neighbours of files that the commit lacks, and everything that these include, one level at a time. */
  async #readFiles(paths: readonly string[]): Promise<void> {
    const knownPaths = new Set(paths.filter((path) => this.#blobIds.has(path)));
    // The rules for a new file come from its neighbours.
    const directories = new Set(paths.filter((path) => !knownPaths.has(path)).map((path) => posix.dirname(path)));
    let pendingPaths = [...this.#blobIds.keys()].filter(
      (path) => knownPaths.has(path) || (/\.ya?ml$/i.test(path) && directories.has(posix.dirname(path))),
    );
    while (pendingPaths.length > 0) {
      const pathsById = Map.groupBy(pendingPaths, (path) => this.#blobIds.get(path) ?? "");
      for await (const { id, content } of this.#git.readObjects([...pathsById.keys()])) {
        for (const path of pathsById.get(id) ?? []) this.#texts.set(path, content.toString("utf8"));
      }
      pendingPaths = [...new Set(pendingPaths.flatMap((path) => this.#listIncludes(path)))].filter(
        (path) => this.#blobIds.has(path) && !this.#texts.has(path),
      );
    }
  }

  #listIncludes(path: string): string[] {
    const { include = [] } = this.#parseFile(join(this.#top, path))?.content ?? {};
    return include
      .filter((candidate) => validateIncludePath(candidate) === undefined)
      .map((item) => posix.join(posix.dirname(path), item));
  }

  #toRepositoryPath(file: string): string {
    // The file itself may be a link or may not exist, so resolve only its directory.
    const path = join(resolveLinks(dirname(resolve(file))), basename(file));
    return relative(resolveLinks(this.#top), path).split(sep).join("/");
  }
}

function collectFingerprints(declared: readonly (DeclaredEntry | DeclaredVip)[]): ReadonlyMap<string, string> {
  return new Map(declared.map((declaration) => [getDeclarationKey(declaration), buildFingerprint(declaration)]));
}

/** Builds a fingerprint of a declaration, without its review date. */
function buildFingerprint(declaration: DeclaredEntry | DeclaredVip): string {
  return JSON.stringify([declaration.text, ...METADATA_FIELD_NAMES.map((name) => declaration[name])]);
}
