import { readFileSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { isOutside, realPath, repositoryOf } from "../../files/repository";
import { printable } from "../../settings/text";
import { GitError, GitReader } from "../git";
import { type CommitFiles, CommitGraph, type CommitText, commitsOfSettings, textsOf } from "./commits";
import { type Element, ElementFinder } from "./elements";
import { type ChangeRequest, requestOf } from "./request";

/** An element in a file, at some time. */
export interface PlacedElement extends Element {
  /** Relative to the repository's top folder. */
  readonly path: string;
}

/** What one commit did to what files say of a value. */
export interface HistoryEvent {
  /** Absent of what is not committed yet. */
  readonly commit?: {
    readonly id: string;
    readonly author: string;
    readonly at: string;
    readonly subject: string;
  };
  /** What brought the commit, the nearest first, where its message or a merge's tells. */
  readonly requests: readonly ChangeRequest[];
  /** The merges that brought it, the nearest first. */
  readonly merges: readonly { readonly id: string; readonly at: string }[];
  readonly before?: PlacedElement;
  readonly after?: PlacedElement;
  /** Whether history ends here, in a shallow clone: who brought it is not known. */
  readonly isCutHere?: true;
}

/** What git tells of a value, the newest first, and what it can't tell. */
export interface ValueHistory {
  readonly events: readonly HistoryEvent[];
  readonly missing: readonly string[];
  /** Whether other files than those that are asked for had to be looked at, since these never had it. */
  readonly isOfOtherFiles: boolean;
}

/** So many bytes of all versions are read. */
const MOST_BYTES = 6 * 1024 ** 3;

/**
 * The history of a value in settings files: what each commit changed of it, however it was written and in whichever of the files, and
 * where it came from when it was moved there from another one. Reads every version of the files once. Never throws: what git can't tell
 * is told.
 *
 * @param files paths, relative to the working folder.
 * @param value in canonical form.
 */
export async function historyOf(
  files: readonly string[],
  value: string,
  { mostBytes = MOST_BYTES }: { mostBytes?: number } = {},
): Promise<ValueHistory> {
  const nothing = { events: [], isOfOtherFiles: false };
  const top = repositoryOf(realPath(resolve(".")));
  if (top === undefined)
    return {
      ...nothing,
      missing: ["These files are in no git repository, so who brought it and when is not known."],
    };
  const outside = files.filter((file) => isOutside(realPath(top), realPath(resolve(file))));
  const paths = files.filter((file) => !outside.includes(file)).map((file) => inRepository(top, file));
  try {
    const reading = new Reading(new GitReader(top), value, mostBytes);
    const history = await reading.history(new Map(paths.map((path, index) => [path, files[index] ?? ""])));
    const beyond = outside.map(
      (file) => `${printable(file)} is not in this repository, so its history is not told.`,
    );
    return { ...history, missing: [...history.missing, ...beyond] };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return { ...nothing, missing: [`${error.message} Who brought it and when is not known.`] };
  }
}

function inRepository(top: string, file: string): string {
  return relative(realPath(top), realPath(resolve(file)))
    .split(sep)
    .join("/");
}

class Reading {
  readonly #git: GitReader;
  readonly #finder: ElementFinder;
  readonly #found = new Map<string, readonly Element[]>();
  #bytesLeft: number;
  #notRead = 0;

  constructor(git: GitReader, value: string, mostBytes: number) {
    this.#git = git;
    this.#finder = new ElementFinder(value);
    this.#bytesLeft = mostBytes;
  }

  /** @param files by their path in the repository, as they are called from here. */
  async history(files: ReadonlyMap<string, string>): Promise<ValueHistory> {
    const git = this.#git;
    if ((await git.text("rev-list", "--all", "--max-count=1")).trim() === "")
      return { events: [], isOfOtherFiles: false, missing: ["Nothing is committed in this repository yet."] };
    const commits = await commitsOfSettings(git);
    let changes = await this.#changesIn(commits, new Set(files.keys()));
    const uncommitted = await this.#uncommitted(files);
    const isOfOtherFiles = changes.length === 0 && uncommitted.length === 0;
    if (isOfOtherFiles) changes = await this.#changesIn(commits, undefined);
    const events = [...uncommitted, ...(await this.#told(changes))];
    return { events, isOfOtherFiles: isOfOtherFiles && changes.length > 0, missing: await this.#missing() };
  }

  /** What commits changed, newest first; of what came from another file, that file's past too. */
  async #changesIn(
    commits: readonly CommitFiles[],
    only: ReadonlySet<string> | undefined,
  ): Promise<readonly (Change & { commit: string })[]> {
    const known = new Set(only);
    await this.#read(commits.flatMap(({ files }) => files.filter(({ path }) => only?.has(path) ?? true)));
    const found: (Change & { commit: string })[] = [];
    for (const { commit, files } of commits) {
      const here = (path: string): boolean => only === undefined || known.has(path);
      let changes = this.#changesOf(files.filter(({ path }) => here(path)));
      const others = files.filter(({ path }) => !here(path));
      if (changes.some(({ before }) => before === undefined) && others.length > 0) {
        await this.#read(others);
        const from = others.filter((file) =>
          this.#changesOf([file]).some(({ after }) => after === undefined),
        );
        if (from.length > 0) {
          for (const { path } of from) known.add(path);
          changes = this.#changesOf(files.filter(({ path }) => here(path)));
          const past = new Set(from.map(({ path }) => path));
          await this.#read(commits.flatMap((one) => one.files.filter(({ path }) => past.has(path))));
        }
      }
      for (const change of changes) found.push({ ...change, commit });
    }
    return found;
  }

  #changesOf(files: CommitFiles["files"]): readonly Change[] {
    const before: PlacedElement[] = [];
    const after: PlacedElement[] = [];
    for (const file of files) {
      const [now, ...olds] = [file.after, ...file.before].map((id) => this.#elementsOf(id, file.path));
      // A merge has it from one of those that it brings together.
      if (olds.some((old) => JSON.stringify(old) === JSON.stringify(now))) continue;
      before.push(...(olds[0] ?? []));
      after.push(...(now ?? []));
    }
    return changesBetween(before, after);
  }

  #elementsOf(id: string | undefined, path: string): readonly PlacedElement[] {
    return id === undefined ? [] : (this.#found.get(id) ?? []).map((one) => ({ ...one, path }));
  }

  /** Reads versions, the newest first, as far as there is room for them. */
  async #read(files: CommitFiles["files"]): Promise<void> {
    const ids = files.flatMap(({ after, before }) => [after, ...before]).filter((id) => id !== undefined);
    const wanted = [...new Set(ids)].filter((id) => !this.#found.has(id));
    let read = 0;
    if (this.#bytesLeft > 0) {
      for await (const { id, content } of this.#git.objects(wanted)) {
        this.#found.set(id, this.#finder.in(content));
        read += 1;
        this.#bytesLeft -= content.length;
        if (this.#bytesLeft <= 0) break;
      }
    }
    this.#notRead += wanted.length - read;
  }

  /** What stands in the files and is not committed. */
  async #uncommitted(files: ReadonlyMap<string, string>): Promise<readonly HistoryEvent[]> {
    const before: PlacedElement[] = [];
    const after: PlacedElement[] = [];
    const tree = await this.#git.text("ls-tree", "-r", "-z", "HEAD");
    const ids = new Map(
      tree.split("\0").map((line) => {
        const [head = "", path = ""] = line.split("\t", 2);
        return [path, head.split(" ")[2] ?? ""] as const;
      }),
    );
    await this.#read([...files.keys()].map((path) => ({ path, before: [], after: ids.get(path) })));
    for (const [path, file] of files) {
      before.push(...this.#elementsOf(ids.get(path), path));
      after.push(...this.#finder.in(readFileSync(file)).map((one) => ({ ...one, path })));
    }
    return changesBetween(before, after).map((change) => ({ ...change, requests: [], merges: [] }));
  }

  async #told(changes: readonly (Change & { commit: string })[]): Promise<readonly HistoryEvent[]> {
    if (changes.length === 0) return [];
    const git = this.#git;
    const graph = await CommitGraph.read(git);
    const remote = await this.#remote();
    const cut = new Set((await this.#shallow()).split("\n"));
    const mergesOf = new Map(changes.map(({ commit }) => [commit, graph.mergesOf(commit)]));
    const texts = await textsOf(git, [...mergesOf.keys(), ...[...mergesOf.values()].flat()]);
    return changes.map(({ commit, ...change }): HistoryEvent => {
      const own = texts.get(commit);
      const merges = (mergesOf.get(commit) ?? [])
        .map((id) => texts.get(id))
        .filter((one) => one !== undefined);
      const requests = [own, ...merges].flatMap((text) => requestOf(text?.message ?? "", remote) ?? []);
      const names = new Set<string>();
      return {
        ...change,
        commit: { id: commit, author: own?.author ?? "", at: own?.at ?? "", subject: own?.subject ?? "" },
        requests: requests.filter(({ name }) => !names.has(name) && names.add(name)),
        merges: merges.map(({ id, at }: CommitText) => ({ id, at })),
        ...(cut.has(commit) ? { isCutHere: true as const } : {}),
      };
    });
  }

  async #remote(): Promise<string | undefined> {
    const told = await this.#git
      .text("config", "--null", "--get-regexp", "^remote\\..*\\.url$")
      .catch(() => "");
    const urls = new Map(
      told.split("\0").map((line) => {
        const [name = "", url = ""] = line.split("\n", 2);
        return [name, url] as const;
      }),
    );
    return urls.get("remote.origin.url") ?? [...urls.values()].find((url) => url !== "");
  }

  async #shallow(): Promise<string> {
    const file = (
      await this.#git.text("rev-parse", "--path-format=absolute", "--git-path", "shallow")
    ).trimEnd();
    try {
      return readFileSync(file, "utf8");
    } catch {
      return "";
    }
  }

  async #missing(): Promise<readonly string[]> {
    const missing: string[] = [];
    if ((await this.#git.text("rev-parse", "--is-shallow-repository")).trim() === "true")
      missing.push(
        "This clone is shallow: its history ends before the beginning. `git fetch --unshallow` brings the rest.",
      );
    if (this.#notRead > 0 && this.#bytesLeft > 0)
      missing.push(
        `${this.#notRead} versions of the files are not in this partial clone, so what they changed is not told. \`git fetch --refetch --no-filter\` brings them.`,
      );
    else if (this.#notRead > 0)
      missing.push(
        `The history is long: ${this.#notRead} older versions of the files were not read. \`git log -S\` searches them.`,
      );
    return missing;
  }
}

type Change = Pick<HistoryEvent, "before" | "after">;

/** What differs: elements of one place are compared, then what is left is paired as a move. */
function changesBetween(
  before: readonly PlacedElement[],
  after: readonly PlacedElement[],
): readonly Change[] {
  const changes: Change[] = [];
  const olds = [...before];
  const left: PlacedElement[] = [];
  const takes = (one: PlacedElement, alike: (old: PlacedElement) => boolean): boolean => {
    const at = olds.findIndex(alike);
    const old = olds[at];
    if (old === undefined) return false;
    olds.splice(at, 1);
    if (JSON.stringify(old) !== JSON.stringify(one)) changes.push({ before: old, after: one });
    return true;
  };
  for (const one of after) {
    const isSame = (old: PlacedElement): boolean =>
      old.path === one.path && old.section === one.section && old.scope === one.scope;
    if (!takes(one, isSame)) left.push(one);
  }
  for (const one of left) {
    const isOfKind = (old: PlacedElement): boolean =>
      /vips$/.test(old.section) === /vips$/.test(one.section) &&
      old.section.startsWith("remove") === one.section.startsWith("remove");
    if (!takes(one, isOfKind)) changes.push({ after: one });
  }
  return [...changes, ...olds.map((old) => ({ before: old }))];
}
