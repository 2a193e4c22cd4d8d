import { readFileSync } from "node:fs";
import { pathInRepository, repositoryOfFile } from "../../files/repository";
import { GitError, GitReader } from "../../gitops/git";
import type { HistoryEvent, PlacedElement } from "../../gitops/why-schema";
import { printable } from "../../settings/text";
import { type Change, changesBetween } from "./changes-between";
import { type Committed, eventsOf } from "./commit-events";
import { type CommitFiles, CommitGraph, commitsOfSettings, mergedFiles } from "./commits";
import { FileVersions } from "./file-versions";
import { includeEvents } from "./include-changes";

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
  readonly #versions: FileVersions;
  /** The settings file that is asked about, in the repository. */
  #top = "";

  constructor(git: GitReader, value: string, mostBytes: number) {
    this.#git = git;
    this.#versions = new FileVersions(git, value, mostBytes);
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
    const events = [...uncommitted, ...(await eventsOf(git, changes, graph))];
    return {
      events,
      isOfOtherFiles: isOfOtherFiles && changes.length > 0,
      missing: await this.#versions.missing(),
    };
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
      await this.#versions.read(commits.flatMap(({ files }) => files.filter(({ path }) => past.has(path))));
    };
    await this.#versions.read(commits.flatMap(({ files }) => files.filter(({ path }) => here(path))));
    const found: Committed[] = [];
    for (const { commit, files } of commits) {
      let changes = this.#versions.changesOf(files.filter(({ path }) => here(path)));
      const others = files.filter(({ path }) => !here(path));
      if (changes.some(({ before }) => before === undefined) && others.length > 0) {
        await this.#versions.read(others);
        const from = others.filter((file) =>
          this.#versions.changesOf([file]).some(({ after }) => after === undefined),
        );
        if (from.length > 0) {
          await takeIn(from.map(({ path }) => path));
          changes = this.#versions.changesOf(files.filter(({ path }) => here(path)));
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
      if ([after, ...before].some((id) => id !== undefined && this.#versions.get(id) === undefined)) continue;
      const [now, ...olds] = [after, ...before].map((id) =>
        id === undefined ? undefined : this.#versions.get(id),
      );
      if (olds.some((old) => JSON.stringify(old?.includes) === JSON.stringify(now?.includes))) continue;
      const told = await includeEvents(
        { path, before: olds[0], after: now },
        this.#top,
        async (side, name) => await this.#versions.at(side === "after" ? commit : `${commit}^1`, name),
      );
      events.push(...told.events);
      gone.push(...told.gone);
    }
    return { events, gone };
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
    await this.#versions.read(merged.map(({ path, before, after }) => ({ path, before: [before], after })));
    const told = new Set(
      commits.flatMap(({ commit, files }) => files.map(({ path }) => `${commit} ${path}`)),
    );
    const undone: Committed[] = [];
    for (const { commit, parent, path, before, after } of merged) {
      if (told.has(`${commit} ${path}`)) continue;
      const [old, now] = [this.#versions.elementsOf(before, path), this.#versions.elementsOf(after, path)];
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
    const version = base === "" ? undefined : await this.#versions.at(base, path);
    return (version?.elements ?? []).map((one) => ({ ...one, path }));
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
    await this.#versions.read([...files.keys()].map((path) => ({ path, before: [], after: ids.get(path) })));
    const included: Change[] = [];
    for (const [path, file] of files) {
      const id = ids.get(path);
      const now = this.#versions.parse(readFileSync(file));
      before.push(...this.#versions.elementsOf(id, path));
      after.push(...now.elements.map((one) => ({ ...one, path })));
      if (id === undefined) continue;
      const { events, gone } = await includeEvents(
        { path, before: this.#versions.get(id), after: now },
        this.#top,
        async (side, name) =>
          side === "before"
            ? await this.#versions.at("HEAD", name)
            : this.#versions.inWorkingTree(files.get(name)),
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
}
