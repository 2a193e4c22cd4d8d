import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { excerpt } from "../../settings/text";
import type { FileBundle, Journal } from "../journal/journal";
import type { Advice } from "../report/rollout-report";

const run = promisify(execFile);

/**
 * What is left to do in the settings files once a rollout was taken back: they still say what it did, so that the next one would do
 * it again. Empty where they don't any more.
 */
export async function revertInGit(journal: Journal, id: string): Promise<readonly Advice[]> {
  const files = await stillThere(journal, id);
  if (files.length === 0) return [];
  const shown = `${files.slice(0, 5).join(", ")}${files.length > 5 ? `, … and ${files.length - 5} more` : ""}`;
  const why = `What was taken back still stands in ${shown}, and the next rollout would bring it again; it is refused until then.`;
  const commit = await lastCommit(files);
  if (commit === undefined) return [{ why: `${why} Take it out there too.` }];
  const { hash, subject, isMerge } = commit;
  return [
    {
      why: `${why} It came last by the commit ${hash} (${excerpt(subject, 60)}):`,
      command: `git revert --no-edit ${isMerge ? "-m 1 " : ""}${hash}`,
    },
  ];
}

/** The files that a rollout was the first to bring as they are, and that are still so; relative to the working folder. */
async function stillThere(journal: Journal, id: string): Promise<readonly string[]> {
  const { bundle, folder } = await journal.files(id);
  const before = await bundleBefore(journal, id);
  const root = resolve(relative(folder, "."));
  return [...bundle]
    .filter(([path, content]) => !isSame(before?.get(path), content))
    .map(([path, content]) => [join(root, path), content] as const)
    .filter(([file, content]) => existsSync(file) && readFileSync(file).equals(content))
    .map(([file]) => relative("", file));
}

/** The files of the last rollout before it that had one of the tenants that it changed. */
async function bundleBefore(journal: Journal, id: string): Promise<FileBundle | undefined> {
  const { spec, startedAtMs = 0 } = await journal.record(id);
  const changed = (await journal.tenants(id)).filter(({ attempt }) => attempt > 0);
  const names = new Set(changed.map(({ name }) => name));
  for (const one of await journal.records()) {
    const isBefore = (one.startedAtMs ?? 0) < startedAtMs && one.spec.source === spec.source;
    if (!isBefore || one.spec.rollsBack !== undefined) continue;
    if (!one.spec.waves.some(({ tenants }) => tenants.some((name) => names.has(name)))) continue;
    return (await journal.files(one.id)).bundle;
  }
  return undefined;
}

function isSame(one: Uint8Array | undefined, other: Uint8Array): boolean {
  return one !== undefined && Buffer.from(one).equals(other);
}

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly isMerge: boolean;
}

/** The last commit of some files; undefined where they are in no repository, or not committed as they are. */
async function lastCommit(files: readonly string[]): Promise<Commit | undefined> {
  const git = async (...args: string[]): Promise<string> =>
    (await run("git", [...args, "--", ...files], { maxBuffer: 16 * 1024 * 1024 })).stdout.trim();
  try {
    if ((await git("status", "--porcelain", "--untracked-files=all")) !== "") return undefined;
    const [hash = "", parents = "", subject = ""] = (await git("log", "-1", "--format=%h%x00%P%x00%s")).split(
      "\0",
    );
    return hash === "" ? undefined : { hash, subject, isMerge: parents.includes(" ") };
  } catch {
    return undefined;
  }
}
