import { existsSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { GitReader } from "../../gitops/git";
import { omitUndefined } from "../../model/omit-undefined";
import { findRepository } from "../../settings-files/repository";
import type { Origin } from "./history-schema";

/**
 * Returns who plans a rollout on this machine, and at which commit. Omits unknown parts. Never throws.
 *
 * @param paths the files and directories that the rollout reads. Untracked files count as changes only there, since other untracked files,
 * such as a report, are not part of the rollout.
 */
export async function readOrigin(environment: NodeJS.ProcessEnv, paths: readonly string[]): Promise<Origin> {
  return { ...readUser(environment), ...(await readCommit(paths)) };
}

/** Returns the person who runs a rollout from now on: `dana@build-7`. */
export function getOperatorName(environment: NodeJS.ProcessEnv): string {
  const { user, host } = readUser(environment);
  return user === undefined ? host : `${user}@${host}`;
}

function readUser(environment: NodeJS.ProcessEnv): Pick<Origin, "user" | "host"> {
  // Pipelines share one machine account, so the platform's user comes first.
  const user = environment["GITHUB_ACTOR"] || environment["GITLAB_USER_LOGIN"] || readAccountName();
  return { host: hostname(), ...omitUndefined({ user }) };
}

function readAccountName(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    // A container may run under a user id without a name.
    return undefined;
  }
}

async function readCommit(paths: readonly string[]): Promise<Pick<Origin, "revision" | "hasUncommittedChanges">> {
  if (findRepository(process.cwd()) === undefined) return {};
  const git = new GitReader(process.cwd());
  // Git fails for paths that don't exist or are outside its directory.
  const existingPaths = paths.filter((path) => !/^(?:\.\.(?:\/|$)|\/)/.test(path) && existsSync(path));
  try {
    const revision = (await git.run("rev-parse", "--verify", "HEAD")).trim();
    const hasChanges = async (untracked: "no" | "all", ...paths: readonly string[]): Promise<boolean> =>
      (await git.run("status", "--porcelain", `--untracked-files=${untracked}`, "--", ...paths)) !== "";
    const hasUncommittedChanges =
      (await hasChanges("no", ".")) ||
      (await hasChanges("all", ...existingPaths.map((path) => `:(literal)${path}`), ":(exclude).email-security"));
    return { revision, ...(hasUncommittedChanges ? { hasUncommittedChanges } : {}) };
  } catch {
    return {};
  }
}
