import { readFileSync } from "node:fs";
import type { GitReader } from "../../gitops/git";
import { parseRemoteUrl } from "../../gitops/remote-repository";
import type { HistoryEvent } from "../../gitops/why-schema";
import { parseChangeRequests } from "./change-requests";
import type { ElementChange } from "./diff-elements";
import { type CommitGraph, getCommitter, parseTrailers, readCommits } from "./read-commits";

export type CommittedChange = ElementChange & { readonly commit: string };

export async function buildHistoryEvents(
  git: GitReader,
  changes: readonly CommittedChange[],
  graph: CommitGraph,
): Promise<readonly HistoryEvent[]> {
  if (changes.length === 0) return [];
  const remote = parseRemoteUrl(await getRemoteUrl(git));
  const shallowIds = new Set((await readShallowFile(git)).split("\n"));
  const mergesByCommit = new Map(changes.map(({ commit }) => [commit, graph.findContainingMerges(commit)]));
  const texts = await readCommits(git, [...mergesByCommit.keys(), ...[...mergesByCommit.values()].flat()]);
  return changes.map(({ commit, ...change }): HistoryEvent => {
    const commitText = texts.get(commit);
    const merges = (mergesByCommit.get(commit) ?? []).map((id) => texts.get(id)).filter((info) => info !== undefined);
    const requests = [commitText, ...merges].flatMap((text) =>
      text === undefined ? [] : parseChangeRequests(text.message, remote, text.parents.length > 1),
    );
    const confirmed = requests.filter(({ isClaimed }) => isClaimed === undefined);
    const names = new Set<string>();
    return {
      ...change,
      commit: {
        ...{
          id: commit,
          author: commitText?.author ?? "",
          authoredAt: commitText?.authoredAt ?? "",
          subject: commitText?.subject ?? "",
        },
        ...(commitText === undefined ? {} : { ...getCommitter(commitText), ...parseTrailers(commitText.message) }),
      },
      requests: [...confirmed, ...requests].filter(({ name }) => !names.has(name) && names.add(name)),
      merges: merges.map((merge) => ({ id: merge.id, mergedAt: merge.authoredAt, ...getCommitter(merge) })),
      ...(shallowIds.has(commit) ? { isTruncated: true as const } : {}),
    };
  });
}

/** Returns the URL of the repository's remote, as git resolves it. */
async function getRemoteUrl(git: GitReader): Promise<string> {
  const output = await git.run("remote").catch(() => "");
  const names = output.split("\n").filter((name) => name !== "");
  const name = names.find((candidate) => candidate === "origin") ?? names[0];
  if (name === undefined) return "";
  return (await git.run("remote", "get-url", "--", name).catch(() => "")).trim();
}

/** Returns the boundary commits of a shallow clone, whose parents are missing. */
async function readShallowFile(git: GitReader): Promise<string> {
  const file = (await git.run("rev-parse", "--path-format=absolute", "--git-path", "shallow")).trimEnd();
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
