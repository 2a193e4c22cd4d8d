import { basename, dirname, join, posix, relative, resolve, sep } from "node:path";
import { declaredIn, subjectOf } from "../../files/declared-in-file";
import { type ParsedFile, parsedFile } from "../../files/parse-settings";
import { inspectSettings, type ReadCache } from "../../files/read-settings";
import { includeRefusal, isFinding, readSource } from "../../files/read-source";
import { realPath } from "../../files/repository";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import type { Policy } from "../../files/settings-schema";
import type { GitReader } from "../../gitops/git";

/** Settings files as one commit has them. */
export class CommittedSettings {
  readonly #top: string;
  readonly #ids: ReadonlyMap<string, string>;
  readonly #git: GitReader;
  readonly #today: string;
  readonly #texts = new Map<string, string>();
  readonly #declared = new Map<string, ReadonlyMap<string, string>>();
  readonly #held = new Map<string, ReadonlyMap<string, string>>();
  readonly #drafts = new Map<string, Settings>();
  readonly #cache: ReadCache = new Map();

  private constructor(top: string, git: GitReader, ids: ReadonlyMap<string, string>, today: string) {
    this.#top = top;
    this.#git = git;
    this.#ids = ids;
    this.#today = today;
  }

  /**
   * Reads files of a commit with all that they include there.
   *
   * @param top the repository's top folder.
   * @param commit its id.
   * @param files relative to the working folder; those that the commit has not are passed over.
   * @throws {GitError} when there is no such commit here.
   */
  static async at(
    git: GitReader,
    { top, commit, today }: { readonly top: string; readonly commit: string; readonly today: string },
    files: readonly string[],
  ): Promise<CommittedSettings> {
    const tree = await git.text("ls-tree", "-r", "-z", "--full-tree", commit);
    const ids = new Map<string, string>();
    for (const line of tree.split("\0")) {
      // `100644 blob <id>\t<path>`; a link is another file than it seems.
      const [, id, path] = /^100\d{3} blob ([\da-f]+)\t(.+)$/s.exec(line) ?? [];
      if (id !== undefined && path !== undefined && /\.(?:ya?ml|json)$/i.test(path)) ids.set(path, id);
    }
    const settings = new CommittedSettings(top, git, ids, today);
    await settings.#read(files.map((file) => settings.#pathOf(file)));
    return settings;
  }

  has(file: string): boolean {
    return this.#texts.has(this.#pathOf(file));
  }

  /** Whether it is there, and none of the files that were read includes it. */
  isTop(file: string): boolean {
    const path = this.#pathOf(file);
    return (
      this.#texts.has(path) && ![...this.#texts.keys()].some((one) => this.#includedBy(one).includes(path))
    );
  }

  /** Files in the same folder, as they are called from here. */
  besides(file: string): readonly string[] {
    const path = this.#pathOf(file);
    return this.#called(
      [...this.#texts.keys()].filter((one) => one !== path && posix.dirname(one) === posix.dirname(path)),
    );
  }

  /** All files that were read, as they are called from here. */
  all(): readonly string[] {
    return this.#called([...this.#texts.keys()]);
  }

  #called(paths: readonly string[]): readonly string[] {
    return paths.map((one) => relative(process.cwd(), join(this.#top, one)));
  }

  /**
   * Whether a tenant's file, with all that it includes, holds something just so; of a tenant that is not there yet, whether the file that
   * declares it does. When it was last looked at is no part of it, nor is the file in which a tenant has it.
   */
  holds(top: string, one: DeclaredEntry | DeclaredVip): boolean {
    const held = this.has(top) ? this.#heldBy(top) : this.#declaredIn(one.place.file);
    return held.get(subjectOf(one)) === fingerprint(one);
  }

  /** The rules that hold for a file with all that it includes; none where it can't be read. */
  policyOf(file: string): Policy {
    return this.#draftOf(file)?.policy ?? {};
  }

  #draftOf(file: string): Settings | undefined {
    const there = this.#drafts.get(file);
    if (there !== undefined) return there;
    const { draft } = inspectSettings(file, {
      today: this.#today,
      ownDomains: [],
      together: false,
      readFile: (path) => this.#textOf(path),
      cache: this.#cache,
    });
    if (draft !== undefined) this.#drafts.set(file, draft);
    return draft;
  }

  #heldBy(top: string): ReadonlyMap<string, string> {
    const there = this.#held.get(top);
    if (there !== undefined) return there;
    const { entries = [], vips = [] } = this.#draftOf(top) ?? {};
    const held = fingerprints([...entries, ...vips]);
    this.#held.set(top, held);
    return held;
  }

  #declaredIn(file: string): ReadonlyMap<string, string> {
    const there = this.#declared.get(file);
    if (there !== undefined) return there;
    const parsed = this.#parsed(file);
    const found = fingerprints(
      parsed?.content === undefined ? [] : declaredIn(parsed, parsed.content, this.#today).own,
    );
    this.#declared.set(file, found);
    return found;
  }

  #parsed(file: string): ParsedFile | undefined {
    if (!this.has(file)) return undefined;
    const source = readSource(file, { readFile: (path) => this.#textOf(path) }, undefined);
    return isFinding(source) ? undefined : parsedFile(source);
  }

  #textOf(file: string): string {
    const text = this.#texts.get(this.#pathOf(file));
    if (text === undefined) throw Object.assign(new Error("there is no such file"), { code: "ENOENT" });
    return text;
  }

  /** Reads files, what stands beside those that the commit has not, and all that these include, round by round. */
  async #read(paths: readonly string[]): Promise<void> {
    const known = new Set(paths.filter((path) => this.#ids.has(path)));
    // What a new file is held to, those beside it tell.
    const folders = new Set(paths.filter((path) => !known.has(path)).map((path) => posix.dirname(path)));
    let wanted = [...this.#ids.keys()].filter(
      (path) => known.has(path) || (/\.ya?ml$/i.test(path) && folders.has(posix.dirname(path))),
    );
    while (wanted.length > 0) {
      const pathsOf = Map.groupBy(wanted, (path) => this.#ids.get(path) ?? "");
      for await (const { id, content } of this.#git.objects([...pathsOf.keys()])) {
        for (const path of pathsOf.get(id) ?? []) this.#texts.set(path, content.toString("utf8"));
      }
      wanted = [...new Set(wanted.flatMap((path) => this.#includedBy(path)))].filter(
        (path) => this.#ids.has(path) && !this.#texts.has(path),
      );
    }
  }

  #includedBy(path: string): string[] {
    const { include = [] } = this.#parsed(join(this.#top, path))?.content ?? {};
    return include
      .filter((one) => includeRefusal(one) === undefined)
      .map((one) => posix.join(posix.dirname(path), one));
  }

  #pathOf(file: string): string {
    // The file itself may be a link, or be gone.
    const path = join(realPath(dirname(resolve(file))), basename(file));
    return relative(realPath(this.#top), path).split(sep).join("/");
  }
}

function fingerprints(declared: readonly (DeclaredEntry | DeclaredVip)[]): ReadonlyMap<string, string> {
  return new Map(declared.map((one) => [subjectOf(one), fingerprint(one)]));
}

/** All that is declared of something: when it was last looked at is no part of it. */
function fingerprint({ text, ticket, owner, approvedBy, expires }: DeclaredEntry | DeclaredVip): string {
  return JSON.stringify([text, ticket, owner, approvedBy, expires]);
}
