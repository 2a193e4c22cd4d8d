import { hostname, userInfo } from "node:os";
import { repositoryOf } from "../files/repository";
import { GitReader } from "../gitops/git";
import { withoutUndefined } from "../settings/without-undefined";
import type { Origin } from "./journal/rollout-record";

/** Who plans a rollout here, and of which commit; what is not known is left out. Never throws. */
export async function originOf(environment: NodeJS.ProcessEnv): Promise<Origin> {
  return { ...whoIsHere(environment), ...(await commitHere()) };
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

async function commitHere(): Promise<Pick<Origin, "revision" | "isChanged">> {
  if (repositoryOf(process.cwd()) === undefined) return {};
  const git = new GitReader(process.cwd());
  try {
    const revision = (await git.text("rev-parse", "--verify", "HEAD")).trim();
    const changed = await git.text("status", "--porcelain", "--", ".", ":(exclude).email-security");
    return { revision, ...(changed === "" ? {} : { isChanged: true }) };
  } catch {
    return {};
  }
}
