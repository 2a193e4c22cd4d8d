import { readFileSync } from "node:fs";
import { pathInRepository, repositoryOfFile } from "../../files/repository";
import { printable } from "../../settings/text";
import { GitError, GitReader } from "../git";
import { remotePlace } from "../remote-place";
import { type Change, changesBetween } from "./changes-between";
import {
  type CommitFiles,
  CommitGraph,
  commitsOfSettings,
  committedBy,
  mergedFiles,
  textsOf,
  trailersOf,
} from "./commits";
import { ElementFinder } from "./elements";
import { includeEvents, type Version } from "./include-changes";
import { requestsIn } from "./request";
import type { HistoryEvent, PlacedElement } from "./why-schema";

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
 * where it came from when it was moved there from another one. Each file's history is that of the repository that keeps it, whatever the
 * working directory is: a submodule or a nested repository has its own. Reads every version of the files once. Never throws: what git can't tell
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
  const byRepository = Map.groupBy(files, repositoryOfFile);
  const histories: ValueHistory[] = [];
  for (const [repository, own] of byRepository) {
    histories.push(
      repository === undefined
        ? { events: [], isOfOtherFiles: false, missing: [notInRepository(own, byRepository.size)] }
        : await historyIn(repository, own, value, mostBytes),
    );
  }
  // That another repository never had it is no reason to look at its other files.
  const isKnown = histories.some(({ events, isOfOtherFiles }) => events.length > 0 && !isOfOtherFiles);
  const told = isKnown ? histories.filter(({ isOfOtherFiles }) => !isOfOtherFiles) : histories;
  return {
    events: mergedByTime(told.map(({ events }) => events)),
    isOfOtherFiles: told.some(({ isOfOtherFiles }) => isOfOtherFiles),
    missing: [...new Set(histories.flatMap(({ missing }) => missing))],
  };
}

function notInRepository(files: readonly string[], places: number): string {
  return places === 1
    ? "These files are in no git repository, so who brought it and when is not known."
    : `${files.map(printable).join(", ")}: in no git repository, so who brought it there and when is not known.`;
}

async function historyIn(
  repository: string,
  files: readonly string[],
  value: string,
  mostBytes: number,
): Promise<ValueHistory> {
  const paths = files.map((file) => [pathInRepository(repository, file), file] as const);
  try {
    return await new Reading(new GitReader(repository), value, mostBytes).history(new Map(paths));
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return {
      events: [],
      isOfOtherFiles: false,
      missing: [`${error.message} Who brought it and when is not known.`],
    };
  }
}

/** Histories of several repositories as one, the newest first; each stays in the order that git gives it. */
function mergedByTime(histories: readonly (readonly HistoryEvent[])[]): readonly HistoryEvent[] {
  const left = histories.map((events) => [...events]);
  const merged: HistoryEvent[] = [];
  const at = (events: readonly HistoryEvent[]): string => {
    const [event] = events;
    // What is not committed is newer than all that is.
    return event === undefined ? "" : (event.commit?.committedAt ?? event.commit?.at ?? "~");
  };
  for (;;) {
    const next = left.reduce((one, other) => (at(other) > at(one) ? other : one), []);
    const event = next.shift() ?? left.find((events) => events.length > 0)?.shift();
    if (event === undefined) return merged;
    merged.push(event);
  }
}

/** What came or went with a file, but for what came or went in it at once, which is told already. */
function besides(changes: readonly Change[], included: readonly Change[]): readonly Change[] {
  const told = new Set(changes.flatMap(({ before, after }) => [before?.path, after?.path]));
  return included.filter(({ before, after }) => !told.has((before ?? after)?.path));
}

class Reading {
  readonly #git: GitReader;
  readonly #finder: ElementFinder;
  readonly #found = new Map<string, Version>();
  /** The settings file that is asked about, in the repository. */
  #top = "";
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
    const known = new Set(files.keys());
    [this.#top = ""] = known;
    const uncommitted = await this.#uncommitted(files, known);
    let changes = await this.#changesIn(commits, known);
    const isOfOtherFiles = changes.length === 0 && uncommitted.length === 0;
    if (isOfOtherFiles) changes = await this.#changesIn(commits, undefined);
    const graph = await CommitGraph.read(git);
    changes = await this.#withUndone(changes, commits, graph, isOfOtherFiles ? undefined : known);
    const events = [...uncommitted, ...(await this.#told(changes, graph))];
    return { events, isOfOtherFiles: isOfOtherFiles && changes.length > 0, missing: await this.#missing() };
  }

  /**
   * What commits changed, newest first; of what came from another file, or stood in one that is included no more, that file's past too.
   *
   * @param known the files that are meant, to which those are added. Undefined: all.
   */
  async #changesIn(
    commits: readonly CommitFiles[],
    known: Set<string> | undefined,
  ): Promise<readonly Committed[]> {
    const here = (path: string): boolean => known?.has(path) ?? true;
    const takeIn = async (paths: readonly string[]): Promise<void> => {
      const past = new Set(paths.filter((path) => !here(path)));
      for (const path of past) known?.add(path);
      await this.#read(commits.flatMap(({ files }) => files.filter(({ path }) => past.has(path))));
    };
    await this.#read(commits.flatMap(({ files }) => files.filter(({ path }) => here(path))));
    const found: Committed[] = [];
    for (const { commit, files } of commits) {
      let changes = this.#changesOf(files.filter(({ path }) => here(path)));
      const others = files.filter(({ path }) => !here(path));
      if (changes.some(({ before }) => before === undefined) && others.length > 0) {
        await this.#read(others);
        const from = others.filter((file) =>
          this.#changesOf([file]).some(({ after }) => after === undefined),
        );
        if (from.length > 0) {
          await takeIn(from.map(({ path }) => path));
          changes = this.#changesOf(files.filter(({ path }) => here(path)));
        }
      }
      if (known !== undefined) {
        const { events, gone } = await this.#includesOf(
          commit,
          files.filter(({ path }) => here(path)),
        );
        changes = [...changes, ...besides(changes, events)];
        await takeIn(gone);
      }
      for (const change of changes) found.push({ ...change, commit });
    }
    return found;
  }

  /** What came and went in one commit by what files include. */
  async #includesOf(commit: string, files: CommitFiles["files"]): ReturnType<typeof includeEvents> {
    const events: Awaited<ReturnType<typeof includeEvents>>["events"][number][] = [];
    const gone: string[] = [];
    for (const { path, before, after } of files) {
      // Of what was not read nothing is told.
      if ([after, ...before].some((id) => id !== undefined && !this.#found.has(id))) continue;
      const [now, ...olds] = [after, ...before].map((id) =>
        id === undefined ? undefined : this.#found.get(id),
      );
      if (olds.some((old) => JSON.stringify(old?.includes) === JSON.stringify(now?.includes))) continue;
      const told = await includeEvents(
        { path, before: olds[0], after: now },
        this.#top,
        async (side, name) => await this.#at(side === "after" ? commit : `${commit}^1`, name),
      );
      events.push(...told.events);
      gone.push(...told.gone);
    }
    return { events, gone };
  }

  /** A file as it stood in a commit. */
  async #at(commit: string, path: string): Promise<Version | undefined> {
    for await (const { content } of this.#git.objects([`${commit}:${path}`])) return this.#versionOf(content);
    return undefined;
  }

  /** A file as it stands in the working tree; of others than those that are included nothing is known. */
  #here(file: string | undefined): Version | undefined {
    return file === undefined ? undefined : this.#versionOf(readFileSync(file));
  }

  #versionOf(content: Buffer): Version {
    return { elements: this.#finder.in(content), includes: this.#finder.includesIn(content) };
  }

  /** With what merges took for nothing: a file as it was before one of the branches had changed it. */
  async #withUndone(
    changes: readonly Committed[],
    commits: readonly CommitFiles[],
    graph: CommitGraph,
    known: ReadonlySet<string> | undefined,
  ): Promise<readonly Committed[]> {
    const paths =
      known ??
      new Set(changes.flatMap(({ before, after }) => [before, after].flatMap((one) => one?.path ?? [])));
    if (paths.size === 0) return changes;
    const merged = await mergedFiles(this.#git, graph, paths);
    await this.#read(merged.map(({ path, before, after }) => ({ path, before: [before], after })));
    const told = new Set(
      commits.flatMap(({ commit, files }) => files.map(({ path }) => `${commit} ${path}`)),
    );
    const undone: Committed[] = [];
    for (const { commit, parent, path, before, after } of merged) {
      if (told.has(`${commit} ${path}`)) continue;
      const [old, now] = [this.#elementsOf(before, path), this.#elementsOf(after, path)];
      if (JSON.stringify(old) === JSON.stringify(now)) continue;
      // What the branch had never changed is what another one brought.
      const base = await this.#beforeBranch(graph, commit, parent, path);
      if (JSON.stringify(base) === JSON.stringify(old)) continue;
      for (const change of changesBetween(old, now))
        undone.push({ ...change, commit, isUndoneByMerge: true });
    }
    if (undone.length === 0) return changes;
    const order = graph.order();
    const at = ({ commit }: Committed): number => order.get(commit) ?? 0;
    return [...changes, ...undone].sort((one, other) => at(one) - at(other));
  }

  /** What a file said where one parent of a merge parted from the others. */
  async #beforeBranch(
    graph: CommitGraph,
    merge: string,
    parent: string,
    path: string,
  ): Promise<readonly PlacedElement[]> {
    const others = graph.parentsOf(merge).filter((one) => one !== parent);
    const told = await this.#git.text("merge-base", parent, ...others).catch(() => "");
    const [base = ""] = told.split("\n");
    const version = base === "" ? undefined : await this.#at(base, path);
    return (version?.elements ?? []).map((one) => ({ ...one, path }));
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
    return id === undefined ? [] : (this.#found.get(id)?.elements ?? []).map((one) => ({ ...one, path }));
  }

  /** Reads versions, the newest first, as far as there is room for them. */
  async #read(files: CommitFiles["files"]): Promise<void> {
    const ids = files.flatMap(({ after, before }) => [after, ...before]).filter((id) => id !== undefined);
    const wanted = [...new Set(ids)].filter((id) => !this.#found.has(id));
    let read = 0;
    if (this.#bytesLeft > 0) {
      for await (const { id, content } of this.#git.objects(wanted)) {
        this.#found.set(id, this.#versionOf(content));
        read += 1;
        this.#bytesLeft -= content.length;
        if (this.#bytesLeft <= 0) break;
      }
    }
    this.#notRead += wanted.length - read;
  }

  /**
   * What stands in the files and is not committed.
   *
   * @param known to which the files are added that are included no more.
   */
  async #uncommitted(
    files: ReadonlyMap<string, string>,
    known: Set<string>,
  ): Promise<readonly HistoryEvent[]> {
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
    const included: Change[] = [];
    for (const [path, file] of files) {
      const id = ids.get(path);
      const now = this.#versionOf(readFileSync(file));
      before.push(...this.#elementsOf(id, path));
      after.push(...now.elements.map((one) => ({ ...one, path })));
      if (id === undefined) continue;
      const { events, gone } = await includeEvents(
        { path, before: this.#found.get(id), after: now },
        this.#top,
        async (side, name) =>
          side === "before" ? await this.#at("HEAD", name) : this.#here(files.get(name)),
      );
      included.push(...events);
      for (const one of gone) known.add(one);
    }
    const changes = changesBetween(before, after);
    return [...changes, ...besides(changes, included)].map((change) => ({
      ...change,
      requests: [],
      merges: [],
    }));
  }

  async #told(changes: readonly Committed[], graph: CommitGraph): Promise<readonly HistoryEvent[]> {
    if (changes.length === 0) return [];
    const git = this.#git;
    const remote = remotePlace(await this.#remote());
    const cut = new Set((await this.#shallow()).split("\n"));
    const mergesOf = new Map(changes.map(({ commit }) => [commit, graph.mergesOf(commit)]));
    const texts = await textsOf(git, [...mergesOf.keys(), ...[...mergesOf.values()].flat()]);
    return changes.map(({ commit, ...change }): HistoryEvent => {
      const own = texts.get(commit);
      const merges = (mergesOf.get(commit) ?? [])
        .map((id) => texts.get(id))
        .filter((one) => one !== undefined);
      const requests = [own, ...merges].flatMap((text) =>
        text === undefined ? [] : requestsIn(text.message, remote, text.parents.length > 1),
      );
      const confirmed = requests.filter(({ isClaimed }) => isClaimed === undefined);
      const names = new Set<string>();
      return {
        ...change,
        commit: {
          ...{ id: commit, author: own?.author ?? "", at: own?.at ?? "", subject: own?.subject ?? "" },
          ...(own === undefined ? {} : { ...committedBy(own), ...trailersOf(own.message) }),
        },
        requests: [...confirmed, ...requests].filter(({ name }) => !names.has(name) && names.add(name)),
        merges: merges.map((one) => ({ id: one.id, at: one.at, ...committedBy(one) })),
        ...(cut.has(commit) ? { isCutHere: true as const } : {}),
      };
    });
  }

  /** The address of the repository's remote, as git reads it. */
  async #remote(): Promise<string> {
    const told = await this.#git.text("remote").catch(() => "");
    const names = told.split("\n").filter((name) => name !== "");
    const name = names.find((one) => one === "origin") ?? names[0];
    if (name === undefined) return "";
    return (await this.#git.text("remote", "get-url", "--", name).catch(() => "")).trim();
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
    const { unreadable } = this.#finder;
    if (unreadable > 0)
      missing.push(
        `${unreadable === 1 ? "A version" : `${unreadable} versions`} of the files can't be read where the value stands, a mistake in the YAML: what is told as taken out and added there may have been written all along.`,
      );
    return missing;
  }
}

type Committed = Change & { readonly commit: string };
