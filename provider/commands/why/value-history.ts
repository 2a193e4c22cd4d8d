import { readFileSync } from "node:fs";
import { GitError, GitReader } from "../../gitops/git";
import type { FileElement, HistoryEvent } from "../../gitops/why-schema";
import { sanitizeLine } from "../../model/text";
import { findFileRepository, getRepositoryPath } from "../../settings-files/repository";
import { buildHistoryEvents, type CommittedChange } from "./commit-events";
import { diffElements, type ElementChange } from "./diff-elements";
import { FileVersions } from "./file-versions";
import { buildIncludeEvents } from "./include-history";
import { type CommitFiles, CommitGraph, listMergedFiles, listSettingsCommits } from "./read-commits";

/** A value's history in git, newest first, with its gaps. */
export interface ValueHistory {
  readonly events: readonly HistoryEvent[];
  readonly missing: readonly string[];
  /** Whether the history comes from other files, because the requested files never contained the value. */
  readonly isFromOtherFiles: boolean;
}

/** The maximum number of bytes to read from all versions. */
const MAX_BYTES = 6 * 1024 ** 3;

/**
 * Returns a value's history in settings files: the changes of each commit, in any spelling and file, including the source of a move. Each
 * file's history comes from its own repository, independent of the working directory: submodules and nested repositories have their own
 * histories. Reads every version of the files once. Never throws: reports the gaps instead.
 *
 * @param value in canonical form.
 */
export async function readValueHistory(
  files: readonly string[],
  value: string,
  { mostBytes = MAX_BYTES }: { mostBytes?: number } = {},
): Promise<ValueHistory> {
  const byRepository = Map.groupBy(files, findFileRepository);
  const histories: ValueHistory[] = [];
  for (const [repository, repositoryFiles] of byRepository) {
    histories.push(
      repository === undefined
        ? {
            events: [],
            isFromOtherFiles: false,
            missing: [describeUntracked(repositoryFiles, byRepository.size)],
          }
        : await readRepositoryHistory(repository, repositoryFiles, value, mostBytes),
    );
  }
  // If one repository's requested files have events, leave out other repositories' unrelated files.
  const hasOwnEvents = histories.some(({ events, isFromOtherFiles }) => events.length > 0 && !isFromOtherFiles);
  const relevant = hasOwnEvents ? histories.filter(({ isFromOtherFiles }) => !isFromOtherFiles) : histories;
  return {
    events: mergeByTime(relevant.map(({ events }) => events)),
    isFromOtherFiles: relevant.some(({ isFromOtherFiles }) => isFromOtherFiles),
    missing: [...new Set(histories.flatMap(({ missing }) => missing))],
  };
}

function describeUntracked(files: readonly string[], repositoryCount: number): string {
  return repositoryCount === 1
    ? "These files aren't in a git repository, so their history is unknown."
    : `${files.map(sanitizeLine).join(", ")}: not in a git repository, so their history is unknown.`;
}

async function readRepositoryHistory(
  repository: string,
  files: readonly string[],
  value: string,
  maxBytes: number,
): Promise<ValueHistory> {
  const paths = files.map((file) => [getRepositoryPath(repository, file), file] as const);
  try {
    return await new HistoryReader(new GitReader(repository), value, maxBytes).read(new Map(paths));
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return {
      events: [],
      isFromOtherFiles: false,
      missing: [`${error.message} Its author and date are unknown.`],
    };
  }
}

/** Merges histories of several repositories, newest first; each keeps git's order. */
function mergeByTime(histories: readonly (readonly HistoryEvent[])[]): readonly HistoryEvent[] {
  const queues = histories.map((events) => [...events]);
  const merged: HistoryEvent[] = [];
  const getTime = (events: readonly HistoryEvent[]): string => {
    const [event] = events;
    // Uncommitted changes are newer than all commits.
    return event === undefined ? "" : (event.commit?.committedAt ?? event.commit?.authoredAt ?? "~");
  };
  for (;;) {
    const next = queues.reduce((a, b) => (getTime(b) > getTime(a) ? b : a), []);
    const event = next.shift() ?? queues.find((events) => events.length > 0)?.shift();
    if (event === undefined) return merged;
    merged.push(event);
  }
}

/** Removes include changes that the direct changes already cover. */
function excludeChangedPaths(
  changes: readonly ElementChange[],
  includeChanges: readonly ElementChange[],
): readonly ElementChange[] {
  const changedPaths = new Set(changes.flatMap(({ before, after }) => [before?.path, after?.path]));
  return includeChanges.filter(({ before, after }) => !changedPaths.has((before ?? after)?.path));
}

class HistoryReader {
  readonly #git: GitReader;
  readonly #versions: FileVersions;
  /** The path of the requested settings file in the repository. */
  #topPath = "";

  constructor(git: GitReader, value: string, maxBytes: number) {
    this.#git = git;
    this.#versions = new FileVersions(git, value, maxBytes);
  }

  /** @param files maps paths in the repository to paths relative to the working directory. */
  async read(files: ReadonlyMap<string, string>): Promise<ValueHistory> {
    const git = this.#git;
    if ((await git.run("rev-list", "--all", "--max-count=1")).trim() === "")
      return {
        events: [],
        isFromOtherFiles: false,
        missing: ["Nothing is committed in this repository yet."],
      };
    const commits = await listSettingsCommits(git);
    const trackedPaths = new Set(files.keys());
    [this.#topPath = ""] = trackedPaths;
    const uncommittedEvents = await this.#readUncommitted(files, trackedPaths);
    let changes = await this.#findChanges(commits, trackedPaths);
    const isFromOtherFiles = changes.length === 0 && uncommittedEvents.length === 0;
    if (isFromOtherFiles) changes = await this.#findChanges(commits, undefined);
    const graph = await CommitGraph.read(git);
    changes = await this.#addMergeReverts(changes, commits, graph, isFromOtherFiles ? undefined : trackedPaths);
    const events = [...uncommittedEvents, ...(await buildHistoryEvents(git, changes, graph))];
    return {
      events,
      isFromOtherFiles: isFromOtherFiles && changes.length > 0,
      missing: await this.#versions.describeGaps(),
    };
  }

  /**
   * Finds the changes that commits made, newest first. Also follows files that elements moved from, and files that are no longer included.
   *
   * @param trackedPaths the files to follow; the method adds those that it finds. Undefined: all files.
   */
  async #findChanges(
    commits: readonly CommitFiles[],
    trackedPaths: Set<string> | undefined,
  ): Promise<readonly CommittedChange[]> {
    const isTracked = (path: string): boolean => trackedPaths?.has(path) ?? true;
    const trackPaths = async (paths: readonly string[]): Promise<void> => {
      const newPaths = new Set(paths.filter((path) => !isTracked(path)));
      for (const path of newPaths) trackedPaths?.add(path);
      await this.#versions.read(commits.flatMap(({ files }) => files.filter(({ path }) => newPaths.has(path))));
    };
    await this.#versions.read(commits.flatMap(({ files }) => files.filter(({ path }) => isTracked(path))));
    const committedChanges: CommittedChange[] = [];
    for (const { commit, files } of commits) {
      let changes = this.#versions.getChanges(files.filter(({ path }) => isTracked(path)));
      const untrackedFiles = files.filter(({ path }) => !isTracked(path));
      if (changes.some(({ before }) => before === undefined) && untrackedFiles.length > 0) {
        await this.#versions.read(untrackedFiles);
        const sourceFiles = untrackedFiles.filter((file) =>
          this.#versions.getChanges([file]).some(({ after }) => after === undefined),
        );
        if (sourceFiles.length > 0) {
          await trackPaths(sourceFiles.map(({ path }) => path));
          changes = this.#versions.getChanges(files.filter(({ path }) => isTracked(path)));
        }
      }
      if (trackedPaths !== undefined) {
        const { events, removedPaths } = await this.#findIncludeChanges(
          commit,
          files.filter(({ path }) => isTracked(path)),
        );
        changes = [...changes, ...excludeChangedPaths(changes, events)];
        await trackPaths(removedPaths);
      }
      for (const change of changes) committedChanges.push({ ...change, commit });
    }
    return committedChanges;
  }

  /** Finds the elements that a commit added or removed by changing includes. */
  async #findIncludeChanges(commit: string, files: CommitFiles["files"]): ReturnType<typeof buildIncludeEvents> {
    const events: Awaited<ReturnType<typeof buildIncludeEvents>>["events"][number][] = [];
    const removedPaths: string[] = [];
    for (const { path, before, after } of files) {
      // Skip files with unread versions: their changes are unknown.
      if ([after, ...before].some((id) => id !== undefined && this.#versions.get(id) === undefined)) continue;
      const [current, ...previous] = [after, ...before].map((id) =>
        id === undefined ? undefined : this.#versions.get(id),
      );
      if (previous.some((old) => JSON.stringify(old?.includes) === JSON.stringify(current?.includes))) continue;
      const includeChanges = await buildIncludeEvents(
        { path, before: previous[0], after: current },
        this.#topPath,
        async (side, name) => await this.#versions.readAtCommit(side === "after" ? commit : `${commit}^1`, name),
      );
      events.push(...includeChanges.events);
      removedPaths.push(...includeChanges.removedPaths);
    }
    return { events, removedPaths };
  }

  /** Adds changes that merges discarded by keeping a file's state from before a branch changed it. */
  async #addMergeReverts(
    changes: readonly CommittedChange[],
    commits: readonly CommitFiles[],
    graph: CommitGraph,
    trackedPaths: ReadonlySet<string> | undefined,
  ): Promise<readonly CommittedChange[]> {
    const paths =
      trackedPaths ??
      new Set(changes.flatMap(({ before, after }) => [before, after].flatMap((item) => item?.path ?? [])));
    if (paths.size === 0) return changes;
    const mergeFiles = await listMergedFiles(this.#git, graph, paths);
    await this.#versions.read(mergeFiles.map(({ path, before, after }) => ({ path, before: [before], after })));
    const knownChanges = new Set(commits.flatMap(({ commit, files }) => files.map(({ path }) => `${commit} ${path}`)));
    const undoneChanges: CommittedChange[] = [];
    for (const { commit, parent, path, before, after } of mergeFiles) {
      if (knownChanges.has(`${commit} ${path}`)) continue;
      const [old, now] = [this.#versions.getElements(before, path), this.#versions.getElements(after, path)];
      if (JSON.stringify(old) === JSON.stringify(now)) continue;
      // This parent's branch did not change the file, so the difference comes from another branch.
      const base = await this.#readMergeBase(graph, commit, parent, path);
      if (JSON.stringify(base) === JSON.stringify(old)) continue;
      for (const change of diffElements(old, now)) undoneChanges.push({ ...change, commit, isUndoneByMerge: true });
    }
    if (undoneChanges.length === 0) return changes;
    const order = graph.getOrder();
    const getOrder = ({ commit }: CommittedChange): number => order.get(commit) ?? 0;
    return [...changes, ...undoneChanges].sort((a, b) => getOrder(a) - getOrder(b));
  }

  /** Reads the value's elements in a file at the merge base of one parent and the others. */
  async #readMergeBase(
    graph: CommitGraph,
    merge: string,
    parent: string,
    path: string,
  ): Promise<readonly FileElement[]> {
    const others = graph.getParents(merge).filter((candidate) => candidate !== parent);
    const output = await this.#git.run("merge-base", parent, ...others).catch(() => "");
    const [base = ""] = output.split("\n");
    const version = base === "" ? undefined : await this.#versions.readAtCommit(base, path);
    return (version?.elements ?? []).map((element) => ({ ...element, path }));
  }

  /**
   * Returns uncommitted changes.
   *
   * @param trackedPaths the method adds files that are no longer included.
   */
  async #readUncommitted(
    files: ReadonlyMap<string, string>,
    trackedPaths: Set<string>,
  ): Promise<readonly HistoryEvent[]> {
    const before: FileElement[] = [];
    const after: FileElement[] = [];
    const tree = await this.#git.run("ls-tree", "-r", "-z", "HEAD");
    const ids = new Map(
      tree.split("\0").map((line) => {
        const [head = "", path = ""] = line.split("\t", 2);
        return [path, head.split(" ")[2] ?? ""] as const;
      }),
    );
    await this.#versions.read([...files.keys()].map((path) => ({ path, before: [], after: ids.get(path) })));
    const includeChanges: ElementChange[] = [];
    for (const [path, file] of files) {
      const id = ids.get(path);
      const current = this.#versions.parse(readFileSync(file));
      before.push(...this.#versions.getElements(id, path));
      after.push(...current.elements.map((element) => ({ ...element, path })));
      if (id === undefined) continue;
      const { events, removedPaths } = await buildIncludeEvents(
        { path, before: this.#versions.get(id), after: current },
        this.#topPath,
        async (side, name) =>
          side === "before"
            ? await this.#versions.readAtCommit("HEAD", name)
            : this.#versions.readWorkingTree(files.get(name)),
      );
      includeChanges.push(...events);
      for (const removedPath of removedPaths) trackedPaths.add(removedPath);
    }
    const changes = diffElements(before, after);
    return [...changes, ...excludeChangedPaths(changes, includeChanges)].map((change) => ({
      ...change,
      requests: [],
      merges: [],
    }));
  }
}
