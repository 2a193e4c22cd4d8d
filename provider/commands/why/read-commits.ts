import type { GitReader } from "../../gitops/git";
import type { CommitTrailers, CommitterFields } from "../../gitops/why-schema";

/** Files that a commit changed, with their versions. A merge lists only files that differ from all of its parents. */
export interface CommitFiles {
  readonly commit: string;
  readonly files: readonly {
    readonly path: string;
    /** The blob ids before the commit, one per parent; undefined if the file did not exist. */
    readonly before: readonly (string | undefined)[];
    readonly after: string | undefined;
  }[];
}

/** A commit's metadata and message. All of them are untrusted. */
export interface CommitInfo {
  readonly id: string;
  readonly parents: readonly string[];
  readonly author: string;
  /** The author date, ISO 8601, UTC. */
  readonly authoredAt: string;
  readonly committer: string;
  /** The committer date, ISO 8601, UTC: the date of a rebase, a cherry-pick or a squash. */
  readonly committedAt: string;
  readonly subject: string;
  readonly message: string;
}

/** Returns the committer and date if either differs from the author's. */
export function getCommitter({ author, authoredAt, committer, committedAt }: CommitInfo): CommitterFields {
  if (committer === author && committedAt === authoredAt) return {};
  return { committer, committedAt };
}

/** Parses co-authors and origins from a commit message. They are only claims: anybody can write them. */
export function parseTrailers(message: string): CommitTrailers {
  const coAuthors = [...message.matchAll(/^co-authored-by:[ \t]*(\S.*?)[ \t]*$/gim)].map(
    ([, coAuthor = ""]) => coAuthor,
  );
  const [, originalCommit] = [...message.matchAll(/^\(cherry picked from commit ([\da-f]{7,64})\)$/gm)].at(-1) ?? [];
  return {
    ...(coAuthors.length === 0 ? {} : { coAuthors: [...new Set(coAuthors)] }),
    ...(originalCommit === undefined ? {} : { cherryPickedFrom: originalCommit }),
  };
}

/** Lists changed files by their blob ids, independent of git's configuration. */
const RAW_DIFF_OPTIONS = ["--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];

/** Lists all commits that changed a file with a settings file's name, newest first. */
export async function listSettingsCommits(git: GitReader): Promise<readonly CommitFiles[]> {
  const output = await git.run(
    "log",
    "--date-order",
    "--full-history",
    "-c",
    ...RAW_DIFF_OPTIONS,
    "--no-follow",
    "--no-show-signature",
    "--no-color",
    "--format=%H",
    "HEAD",
    "--",
    "*.yaml",
    "*.yml",
    "*.json",
  );
  return parseRawDiff(output).filter(({ files }) => files.length > 0);
}

/** A file in a merge that differs from one of the merge's parents. */
export interface MergedFile {
  readonly commit: string;
  readonly parent: string;
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Lists how files in all merges differ from each parent. */
export async function listMergedFiles(
  git: GitReader,
  graph: CommitGraph,
  paths: Iterable<string>,
): Promise<readonly MergedFile[]> {
  const pairs = graph.listMerges().flatMap(({ id, parents }) => parents.map((parent) => [id, parent] as const));
  if (pairs.length === 0) return [];
  const output = await git.runWithInput(
    pairs.map((pair) => `${pair.join(" ")}\n`).join(""),
    "diff-tree",
    "--stdin",
    "--always",
    "-r",
    ...RAW_DIFF_OPTIONS,
    "--",
    ...[...paths].map((path) => `:(top,literal)${path}`),
  );
  return parseRawDiff(output).flatMap(({ files }, index) => {
    const [commit = "", parent = ""] = pairs[index] ?? [];
    return files.map(({ path, before, after }) => ({ commit, parent, path, before: before[0], after }));
  });
}

/** Parses the output of `--raw -z`, grouped by commit. */
function parseRawDiff(output: string): readonly CommitFiles[] {
  const commits: { commit: string; files: CommitFiles["files"][number][] }[] = [];
  const tokens = output.split("\0");
  for (let index = 0; index < tokens.length; index += 1) {
    const token = (tokens[index] ?? "").replace(/^\n/, "");
    if (/^[\da-f]{40,64}$/.test(token)) commits.push({ commit: token, files: [] });
    const [, colons = "", fields = ""] = /^(:+)(.*)$/.exec(token) ?? [];
    if (colons === "") continue;
    index += 1;
    // `::100644 100644 100644 <id> <id> <id> MM`: one mode and id for each parent, and one for the commit.
    const ids = fields.split(" ").slice(colons.length + 1, 2 * colons.length + 2);
    const versions = ids.map((id) => (/^0+$/.test(id) ? undefined : id));
    commits.at(-1)?.files.push({
      path: tokens[index] ?? "",
      before: versions.slice(0, -1),
      after: versions.at(-1),
    });
  }
  return commits;
}

export async function readCommits(git: GitReader, ids: readonly string[]): Promise<ReadonlyMap<string, CommitInfo>> {
  const texts = new Map<string, CommitInfo>();
  for await (const { id, content } of git.readObjects([...new Set(ids)])) {
    const text = content.toString("utf8");
    const headEnd = text.indexOf("\n\n");
    const head = headEnd < 0 ? text : text.slice(0, headEnd);
    const message = headEnd < 0 ? "" : text.slice(headEnd + 2).trim();
    const [author, authoredAt] = parsePerson(head, "author");
    const [committer, committedAt] = parsePerson(head, "committer");
    texts.set(id, {
      id,
      parents: [...head.matchAll(/^parent ([\da-f]+)$/gm)].map(([, parent = ""]) => parent),
      author,
      authoredAt,
      committer,
      committedAt,
      subject: message.split("\n", 1)[0] ?? "",
      message,
    });
  }
  return texts;
}

/** Parses a person and date from a commit's header: `author Dana <dana@acme.example> 1790000000 +0000`. */
function parsePerson(head: string, role: "author" | "committer"): readonly [name: string, at: string] {
  const [, name = "", seconds = "0"] = new RegExp(`^${role} (.*) (\\d+) [+-]\\d{4}$`, "m").exec(head) ?? [];
  const at = new Date(Number(seconds) * 1_000);
  return [name, Number.isNaN(at.getTime()) ? "" : at.toISOString()];
}

export class CommitGraph {
  readonly #parents: ReadonlyMap<string, readonly string[]>;
  /** Commits in topological order: children before their parents. */
  readonly #order: readonly string[];
  readonly #head: string;

  private constructor(lines: readonly string[]) {
    const rows = lines.map((line) => line.split(" "));
    this.#order = rows.map(([id = ""]) => id);
    this.#parents = new Map(rows.map(([id = "", ...parents]) => [id, parents]));
    this.#head = this.#order[0] ?? "";
  }

  static async read(git: GitReader): Promise<CommitGraph> {
    const output = await git.run("rev-list", "--date-order", "--parents", "HEAD");
    return new CommitGraph(output.split("\n").filter((line) => line !== ""));
  }

  /** Returns the merge commits, newest first. */
  listMerges(): readonly { readonly id: string; readonly parents: readonly string[] }[] {
    return [...this.#parents].flatMap(([id, parents]) => (parents.length > 1 ? [{ id, parents }] : []));
  }

  getParents(commit: string): readonly string[] {
    return this.#parents.get(commit) ?? [];
  }

  /** Returns the position of each commit, newest first, with children before their parents. */
  getOrder(): ReadonlyMap<string, number> {
    return new Map(this.#order.map((id, index) => [id, index]));
  }

  /** Returns the merges that brought a commit into the present history, innermost first; empty if it was committed there directly. */
  findContainingMerges(commit: string): readonly string[] {
    const descendants = new Set([commit]);
    for (const id of this.#order.toReversed()) {
      if (this.#parents.get(id)?.some((parent) => descendants.has(parent))) descendants.add(id);
    }
    const merges: string[] = [];
    let current = this.#head;
    while (current !== commit && descendants.has(current)) {
      const [first, ...others] = this.#parents.get(current) ?? [];
      if (first !== undefined && descendants.has(first)) current = first;
      else {
        merges.unshift(current);
        current = others.find((other) => descendants.has(other)) ?? commit;
      }
    }
    return merges;
  }
}
