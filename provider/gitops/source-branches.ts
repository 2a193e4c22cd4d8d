import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quoteShellWord } from "../model/shell-word";
import { quote, sanitizeLine } from "../model/text";
import { createScratchDirectory } from "../system/scratch-directory";
import { BRANCH_PREFIX, getCurrentBranch } from "./commit-change";
import { createGitPrograms, formatGitCommand, GitError, type ProgramResult, type Programs } from "./git";
import { listPushRemotes } from "./pull-request";

/** The generated file of a source. */
export interface ProposedFile {
  /** The name of the source. */
  readonly source: string;
  /** Relative to the repository, as git names it: `settings/sources/phish-feed.yaml`. */
  readonly path: string;
}

/** The effect of a push of a source's file. */
export type BranchUpdate =
  /** The base branch has the same text. */
  | { readonly state: "unchanged" }
  /** The branch has the same text already. */
  | { readonly state: "current" }
  /** The branch was created, or rebuilt on the current base branch. */
  | { readonly state: "pushed" }
  /** A commit was added after the commits of people. */
  | { readonly state: "added"; readonly others: number }
  /** People changed the same lines on the branch. Nothing was pushed. */
  | { readonly state: "conflict"; readonly others: number };

const SOURCE_TRAILER = "Email-Security-Source";
/** The content that the sync wrote. A person who amends its commit keeps the trailers, but not the content. */
const BLOB_TRAILER = "Email-Security-Blob";

/** The reason of a rejected push is compared. */
const REASONS_IN_ENGLISH = { LC_ALL: "C" };

/**
 * Returns the branch on which changes of a source are proposed. The directories of a larger repository may have sources of the same name,
 * so their branches contain the directory.
 */
export function getSourceBranch({ source, path }: ProposedFile): string {
  const directory = path.replace(/^settings\/|\/?(?:settings\/)?sources\/[^/]*$/g, "");
  const suffix = directory.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return `${BRANCH_PREFIX}sync-${source}${suffix === "" ? "" : `-in-${suffix}`}`;
}

/**
 * The branches at a remote on which changes of sources are proposed. They are written without a working tree: neither the user's files nor
 * their branches and index are touched, so that an interruption leaves nothing to restore.
 */
export class SourceBranches {
  readonly repository: string;
  readonly programs: Programs;
  readonly remote: string;
  /** The remote's default branch, into which changes are merged. */
  readonly base: string;
  readonly #baseCommit: string;
  /** The commits of the sources' branches at the remote. */
  readonly #tips: ReadonlyMap<string, string>;

  private constructor(
    repository: string,
    programs: Programs,
    state: { readonly remote: string; readonly base: string; readonly refs: ReadonlyMap<string, string> },
  ) {
    this.repository = repository;
    this.programs = programs;
    this.remote = state.remote;
    this.base = state.base;
    this.#baseCommit = state.refs.get("HEAD") ?? "";
    this.#tips = state.refs;
  }

  /**
   * Fetches the remote's default branch and the branches of these sources.
   *
   * @param repository the top directory of the repository.
   * @throws {GitError} (`ERR_GIT`) if there is no remote to push to, or it can't be read.
   */
  static async fetch(repository: string, files: readonly ProposedFile[]): Promise<SourceBranches> {
    const programs = createGitPrograms(repository, REASONS_IN_ENGLISH);
    const remote = await findPushRemote(programs, repository);
    const branchRefs = files.map((file) => `refs/heads/${getSourceBranch(file)}`);
    const listing = await programs.git(["ls-remote", "--symref", "--", remote, "HEAD", ...branchRefs]);
    if (listing.code !== 0)
      throw new GitError(`${describeRemote(remote)} can't be read. Nothing was pushed:\n${listing.reason}`);
    const lines = listing.stdout.split("\n").map((line) => line.split("\t"));
    const base = lines.find(([target = "", name]) => name === "HEAD" && target.startsWith("ref: refs/heads/"))?.[0];
    const wantedRefs = new Set(["HEAD", ...branchRefs]);
    const refs = new Map(
      lines.flatMap(([id = "", name = ""]): [string, string][] =>
        /^[0-9a-f]+$/.test(id) && wantedRefs.has(name) ? [[name, id]] : [],
      ),
    );
    if (base === undefined || !refs.has("HEAD"))
      throw new GitError(`${describeRemote(remote)} has no default branch with a commit. Nothing was pushed.`);
    const branches = new SourceBranches(repository, programs, { remote, base: base.slice(16), refs });
    await branches.#fetchObjects([...refs.keys()].filter((ref) => ref !== "HEAD"));
    return branches;
  }

  async #fetchObjects(branchRefs: readonly string[]): Promise<void> {
    const shallow = await this.programs.git(["rev-parse", "--is-shallow-repository"]);
    const args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
    // Only the whole history shows which commits of a branch aren't in the base.
    if (branchRefs.length > 0 && shallow.stdout.trim() === "true") args.push("--unshallow");
    const { code, reason } = await this.programs.git([
      ...args,
      "--",
      this.remote,
      `refs/heads/${this.base}`,
      ...branchRefs,
    ]);
    if (code !== 0) throw new GitError(`${describeRemote(this.remote)} can't be read. Nothing was pushed:\n${reason}`);
  }

  /** Whether the remote has a branch for the source. */
  has(file: ProposedFile): boolean {
    return this.#getTip(file) !== undefined;
  }

  /** Returns the text of a source's file on its branch; undefined if there is none. */
  async readProposedText(file: ProposedFile): Promise<string | undefined> {
    const tip = this.#getTip(file);
    return tip === undefined ? undefined : await this.#readText(tip, file.path);
  }

  /**
   * Asserts that files of the working tree have the content of the remote's default branch, because the proposed change is computed from
   * them.
   *
   * @param paths relative to the repository.
   * @throws {GitError} (`ERR_GIT`) if one differs.
   */
  async assertSameAsBase(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      const baseBlob = await this.#findBlob(this.#baseCommit, path);
      const text = readIfExists(join(this.repository, path));
      const blob = text === undefined ? undefined : await this.#hash(path, text, []);
      if (blob === baseBlob) continue;
      throw new GitError(
        `${quote(path, 300)} differs from the branch ${this.#describeBase()}. Nothing was pushed, because the change is computed for that branch. Commit and merge your own change first, or update this branch: \`${formatGitCommand(this.repository)} pull ${quoteShellWord(sanitizeLine(this.remote))} ${quoteShellWord(sanitizeLine(this.base))}\`.`,
      );
    }
  }

  /**
   * Pushes the source's file on the source's branch. If only syncs wrote the branch, it is rebuilt on the current base branch, and replaced
   * only if nobody has pushed to it since. After commits of people, a commit is added if that is possible without a conflict.
   *
   * @param message the message of the commit, without trailers.
   * @throws {GitError} (`ERR_GIT`) if git fails or the remote rejects the push. Nothing was pushed.
   */
  async push(file: ProposedFile, text: string, message: string): Promise<BranchUpdate> {
    const { path } = file;
    const blob = await this.#hash(path, text, ["-w"]);
    const baseBlob = await this.#findBlob(this.#baseCommit, path);
    if (blob === baseBlob) return { state: "unchanged" };
    const tip = this.#getTip(file);
    if (tip === undefined) {
      await this.#pushCommit(file, blob, message, { parents: [this.#baseCommit], tip });
      return { state: "pushed" };
    }
    const { others, lastOwn } = await this.#listCommits(tip, file);
    const tipBlob = await this.#findBlob(tip, path);
    const forkPoint = await this.#findForkPoint(tip);
    if (others === 0) {
      const isOutdated =
        forkPoint === tip || forkPoint === undefined || (await this.#findBlob(forkPoint, path)) !== baseBlob;
      if (tipBlob === blob && !isOutdated) return { state: "current" };
      await this.#pushCommit(file, blob, message, { parents: [this.#baseCommit], tip });
      return { state: "pushed" };
    }
    if (tipBlob === blob) return { state: "current" };
    const ancestor = lastOwn ?? forkPoint;
    const ancestorBlob = ancestor === undefined ? undefined : await this.#findBlob(ancestor, path);
    if (tipBlob === ancestorBlob) {
      await this.#pushCommit(file, blob, message, { parents: [tip], tip });
      return { state: "added", others };
    }
    const mergedText = await this.#merge(path, { tip, ancestor, text });
    if (mergedText === undefined) return { state: "conflict", others };
    const mergedBlob = await this.#hash(path, mergedText, ["-w"]);
    if (mergedBlob === tipBlob) return { state: "current" };
    // The text itself stays in the history, as the ancestor of the next merge.
    const own = await this.#commit(file, blob, message, [ancestor ?? this.#baseCommit]);
    await this.#pushCommit(file, mergedBlob, message, { parents: [tip, own], tip });
    return { state: "added", others };
  }

  #getTip(file: ProposedFile): string | undefined {
    return this.#tips.get(`refs/heads/${getSourceBranch(file)}`);
  }

  #describeBase(): string {
    return `${sanitizeLine(this.base)} of ${describeRemote(this.remote)}`;
  }

  /**
   * Counts the commits on a branch that aren't unchanged commits of a sync.
   *
   * @returns also the newest commit with the text of a sync, apart from merges.
   */
  async #listCommits(
    tip: string,
    { source, path }: ProposedFile,
  ): Promise<{ readonly others: number; readonly lastOwn: string | undefined }> {
    const trailers = [SOURCE_TRAILER, BLOB_TRAILER].map((key) => `%(trailers:key=${key},valueonly,separator=%x2C)`);
    const format = `--format=${["%H", "%P", ...trailers].join("%x09")}`;
    const output = await this.#run(["log", "--topo-order", format, `${this.#baseCommit}..${tip}`, "--"]);
    let others = 0;
    let lastOwn: string | undefined;
    for (const line of output.split("\n")) {
      if (line === "") continue;
      const [commit = "", parents = "", ownSource, ownBlob] = line.split("\t");
      const isOwn =
        ownSource === source &&
        (await this.#findBlob(commit, path)) === ownBlob &&
        (await this.#listChangedPaths(commit)).every((changed) => changed === path);
      if (!isOwn) others++;
      else if (!parents.includes(" ")) lastOwn ??= commit;
    }
    return { others, lastOwn };
  }

  async #listChangedPaths(commit: string): Promise<string[]> {
    const output = await this.#run(["diff-tree", "-r", "-z", "--no-commit-id", "--name-only", "--no-renames", commit]);
    return output.split("\0").filter((path) => path !== "");
  }

  async #findForkPoint(tip: string): Promise<string | undefined> {
    const { code, stdout } = await this.programs.git(["merge-base", this.#baseCommit, tip]);
    return code === 0 ? stdout.trim() : undefined;
  }

  /** Merges the text into the branch's; undefined if they conflict. */
  async #merge(
    path: string,
    { tip, ancestor, text }: { readonly tip: string; readonly ancestor: string | undefined; readonly text: string },
  ): Promise<string | undefined> {
    using directory = createScratchDirectory("merge");
    const texts = {
      branch: (await this.#readText(tip, path)) ?? "",
      ancestor: ancestor === undefined ? "" : ((await this.#readText(ancestor, path)) ?? ""),
      sync: text,
    };
    const files = Object.entries(texts).map(([name, content]) => {
      const file = join(directory.path, name);
      writeFileSync(file, content);
      return file;
    });
    const { code, stdout } = await this.programs.git(["merge-file", "--quiet", "--stdout", "--", ...files]);
    return code === 0 ? stdout : undefined;
  }

  async #commit(
    { source, path }: ProposedFile,
    blob: string,
    message: string,
    parents: readonly [string, ...string[]],
  ): Promise<string> {
    const tree = await this.#writeTree(parents[0], path, blob);
    const signing = await this.programs.git(["config", "--type=bool", "--get", "commit.gpgSign"]);
    const options = signing.stdout.trim() === "true" ? ["-S"] : [];
    const trailers = `${SOURCE_TRAILER}: ${source}\n${BLOB_TRAILER}: ${blob}\n`;
    const args = ["commit-tree", ...options, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-", tree];
    return (await this.#run(args, `${message}\n\n${trailers}`)).trim();
  }

  async #pushCommit(
    file: ProposedFile,
    blob: string,
    message: string,
    { parents, tip }: { readonly parents: readonly [string, ...string[]]; readonly tip: string | undefined },
  ): Promise<void> {
    const commit = await this.#commit(file, blob, message, parents);
    const ref = `refs/heads/${getSourceBranch(file)}`;
    // The lease covers only this branch, and fails if anybody has pushed to it since it was read.
    const lease = `--force-with-lease=${ref}:${tip ?? ""}`;
    const result = await this.programs.git(["push", "--quiet", lease, "--", this.remote, `${commit}:${ref}`]);
    if (result.code === 0) return;
    const advice = isStaleLease(result)
      ? "Somebody has pushed to it in the meantime. Run the command again."
      : `The reason is below.\n${result.reason}`;
    throw new GitError(
      `The branch ${getSourceBranch(file)} could not be pushed to ${describeRemote(this.remote)}. ${advice}`,
    );
  }

  /** Writes the tree of a commit with one other file. Uses its own index, because the user's may contain staged changes. */
  async #writeTree(commit: string, path: string, blob: string): Promise<string> {
    using directory = createScratchDirectory("index");
    const { git } = createGitPrograms(this.repository, { GIT_INDEX_FILE: join(directory.path, "index") });
    const mode = (await this.#run(["ls-tree", commit, "--", path])).startsWith("100755") ? 755 : 644;
    await runOrThrow(git, ["read-tree", commit]);
    await runOrThrow(git, ["update-index", "--add", "--cacheinfo", `100${mode},${blob},${path}`]);
    return (await runOrThrow(git, ["write-tree"])).trim();
  }

  async #hash(path: string, text: string, options: readonly string[]): Promise<string> {
    return (await this.#run(["hash-object", ...options, `--path=${path}`, "--stdin"], text)).trim();
  }

  async #findBlob(commit: string, path: string): Promise<string | undefined> {
    const { code, stdout } = await this.programs.git(["rev-parse", "--quiet", "--verify", `${commit}:${path}`]);
    return code === 0 ? stdout.trim() : undefined;
  }

  async #readText(commit: string, path: string): Promise<string | undefined> {
    const { code, stdout } = await this.programs.git(["cat-file", "blob", `${commit}:${path}`]);
    return code === 0 ? stdout : undefined;
  }

  async #run(args: readonly string[], input?: string): Promise<string> {
    return await runOrThrow(this.programs.git, args, input);
  }
}

async function runOrThrow(git: Programs["git"], args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, reason } = await git(args, input);
  if (code !== 0) throw new GitError(`git ${args[0]} failed. Nothing was pushed:\n${reason}`);
  return stdout;
}

async function findPushRemote(programs: Programs, repository: string): Promise<string> {
  const remotes = await listPushRemotes(programs, await getCurrentBranch(programs));
  const [remote] = remotes;
  if (remote !== undefined && remotes.length === 1) return remote;
  const problem =
    remote === undefined
      ? `no remote. Add one with \`${formatGitCommand(repository)} remote add origin URL\`.`
      : "several remotes, none of them named origin. Set the remote of the current branch.";
  throw new GitError(`Nothing was pushed: this repository has ${problem}`);
}

function describeRemote(remote: string): string {
  return `the remote ${sanitizeLine(remote)}`;
}

function isStaleLease({ reason }: ProgramResult): boolean {
  return /\(stale info\)|\(fetch first\)|cannot lock ref/.test(reason);
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
