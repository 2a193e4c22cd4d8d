import { readFileSync } from "node:fs";
import type { GitReader } from "../../gitops/git";
import { remotePlace } from "../../gitops/remote-place";
import type { HistoryEvent } from "../../gitops/why-schema";
import type { Change } from "./changes-between";
import { type CommitGraph, committedBy, textsOf, trailersOf } from "./commits";
import { requestsIn } from "./request";

/** A change with its commit. */
export type Committed = Change & { readonly commit: string };

/** Adds commit details to changes: author, date and request. */
export async function eventsOf(
  git: GitReader,
  changes: readonly Committed[],
  graph: CommitGraph,
): Promise<readonly HistoryEvent[]> {
  if (changes.length === 0) return [];
  const remote = remotePlace(await getRemoteUrl(git));
  const shallowIds = new Set((await readShallowFile(git)).split("\n"));
  const mergesByCommit = new Map(changes.map(({ commit }) => [commit, graph.mergesOf(commit)]));
  const texts = await textsOf(git, [...mergesByCommit.keys(), ...[...mergesByCommit.values()].flat()]);
  return changes.map(({ commit, ...change }): HistoryEvent => {
    const commitText = texts.get(commit);
    const merges = (mergesByCommit.get(commit) ?? []).map((id) => texts.get(id)).filter((one) => one !== undefined);
    const requests = [commitText, ...merges].flatMap((text) =>
      text === undefined ? [] : requestsIn(text.message, remote, text.parents.length > 1),
    );
    const confirmed = requests.filter(({ isClaimed }) => isClaimed === undefined);
    const names = new Set<string>();
    return {
      ...change,
      commit: {
        ...{
          id: commit,
          author: commitText?.author ?? "",
          at: commitText?.at ?? "",
          subject: commitText?.subject ?? "",
        },
        ...(commitText === undefined ? {} : { ...committedBy(commitText), ...trailersOf(commitText.message) }),
      },
      requests: [...confirmed, ...requests].filter(({ name }) => !names.has(name) && names.add(name)),
      merges: merges.map((one) => ({ id: one.id, at: one.at, ...committedBy(one) })),
      ...(shallowIds.has(commit) ? { isCutHere: true as const } : {}),
    };
  });
}

/** Returns the URL of the repository's remote, as git resolves it. */
async function getRemoteUrl(git: GitReader): Promise<string> {
  const output = await git.text("remote").catch(() => "");
  const names = output.split("\n").filter((name) => name !== "");
  const name = names.find((candidate) => candidate === "origin") ?? names[0];
  if (name === undefined) return "";
  return (await git.text("remote", "get-url", "--", name).catch(() => "")).trim();
}

/** Returns the boundary commits of a shallow clone, whose parents are missing. */
async function readShallowFile(git: GitReader): Promise<string> {
  const file = (await git.text("rev-parse", "--path-format=absolute", "--git-path", "shallow")).trimEnd();
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
