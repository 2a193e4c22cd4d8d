import { existsSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { repositoryOf } from "../../files/repository";
import { GitReader } from "../../gitops/git";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Origin } from "./history-schema";

/**
 * Who plans a rollout here, and of which commit; what is not known is left out. Never throws.
 *
 * @param places the files and folders that it reads. What git does not know counts there alone: a site or a report that lies beside
 * them is no part of a rollout.
 */
export async function originOf(environment: NodeJS.ProcessEnv, places: readonly string[]): Promise<Origin> {
  return { ...whoIsHere(environment), ...(await commitHere(places)) };
}

/** `dana@build-7`: who is at a rollout from now on. */
export function nameOfWho(environment: NodeJS.ProcessEnv): string {
  const { user, host } = whoIsHere(environment);
  return user === undefined ? host : `${user}@${host}`;
}

function whoIsHere(environment: NodeJS.ProcessEnv): Pick<Origin, "user" | "host"> {
  // In a pipeline the account of the machine is everybody's.
  const user = environment["GITHUB_ACTOR"] || environment["GITLAB_USER_LOGIN"] || account();
  return { host: hostname(), ...withoutUndefined({ user }) };
}

function account(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    // A container may run as a number that has no name.
    return undefined;
  }
}

async function commitHere(places: readonly string[]): Promise<Pick<Origin, "revision" | "isChanged">> {
  if (repositoryOf(process.cwd()) === undefined) return {};
  const git = new GitReader(process.cwd());
  // Git refuses what is not below its folder, or is not there.
  const own = places.filter((place) => !/^(?:\.\.(?:\/|$)|\/)/.test(place) && existsSync(place));
  try {
    const revision = (await git.text("rev-parse", "--verify", "HEAD")).trim();
    const changed = async (untracked: "no" | "all", ...paths: readonly string[]): Promise<boolean> =>
      (await git.text("status", "--porcelain", `--untracked-files=${untracked}`, "--", ...paths)) !== "";
    const isChanged =
      (await changed("no", ".")) ||
      (await changed("all", ...own.map((place) => `:(literal)${place}`), ":(exclude).email-security"));
    return { revision, ...(isChanged ? { isChanged } : {}) };
  } catch {
    return {};
  }
}
