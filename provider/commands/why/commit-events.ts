import { readFileSync } from "node:fs";
import type { GitReader } from "../../gitops/git";
import { remotePlace } from "../../gitops/remote-place";
import type { HistoryEvent } from "../../gitops/why-schema";
import type { Change } from "./changes-between";
import { type CommitGraph, committedBy, textsOf, trailersOf } from "./commits";
import { requestsIn } from "./request";

/** A change, and the commit that made it. */
export type Committed = Change & { readonly commit: string };

/** Changes with what their commits tell: who, when, and by which request. */
export async function eventsOf(
  git: GitReader,
  changes: readonly Committed[],
  graph: CommitGraph,
): Promise<readonly HistoryEvent[]> {
  if (changes.length === 0) return [];
  const remote = remotePlace(await remoteAddress(git));
  const cut = new Set((await shallowCommits(git)).split("\n"));
  const mergesOf = new Map(changes.map(({ commit }) => [commit, graph.mergesOf(commit)]));
  const texts = await textsOf(git, [...mergesOf.keys(), ...[...mergesOf.values()].flat()]);
  return changes.map(({ commit, ...change }): HistoryEvent => {
    const own = texts.get(commit);
    const merges = (mergesOf.get(commit) ?? []).map((id) => texts.get(id)).filter((one) => one !== undefined);
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
async function remoteAddress(git: GitReader): Promise<string> {
  const told = await git.text("remote").catch(() => "");
  const names = told.split("\n").filter((name) => name !== "");
  const name = names.find((one) => one === "origin") ?? names[0];
  if (name === undefined) return "";
  return (await git.text("remote", "get-url", "--", name).catch(() => "")).trim();
}

/** The commits before which a shallow clone has none. */
async function shallowCommits(git: GitReader): Promise<string> {
  const file = (await git.text("rev-parse", "--path-format=absolute", "--git-path", "shallow")).trimEnd();
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
