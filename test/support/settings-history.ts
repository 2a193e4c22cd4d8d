import { execFileSync } from "node:child_process";
import { devNull } from "node:os";
import { runEnvironment } from "./run-environment";
import { createSettingsDirectory, type SettingsDirectory } from "./settings-directory";

/** Settings files in a git repository that ignores the user's own git configuration. */
export interface SettingsHistory extends SettingsDirectory {
  readonly git: (...args: string[]) => string;
  /** Writes files and commits them all; undefined removes a file. Returns the commit id. */
  readonly commit: (message: string, files: Readonly<Record<string, string | undefined>>) => string;
}

/** The environment for git in tests. */
export const GIT_ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: devNull,
  GIT_AUTHOR_NAME: "Dana Reyes",
  GIT_AUTHOR_EMAIL: "dana@acme.example",
  GIT_COMMITTER_NAME: "Dana Reyes",
  GIT_COMMITTER_EMAIL: "dana@acme.example",
};

export function settingsHistory(): SettingsHistory {
  const directory = createSettingsDirectory({});
  let minutes = 0;
  const git = (...args: string[]): string => {
    const at = new Date(Date.UTC(2026, 9, 1, 8, minutes)).toISOString();
    const env = {
      ...runEnvironment(),
      ...GIT_ENVIRONMENT,
      GIT_AUTHOR_DATE: at,
      GIT_COMMITTER_DATE: at,
    };
    return execFileSync("git", args, {
      cwd: directory.path,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  };
  git("init", "--quiet", "--initial-branch=main");
  return {
    ...directory,
    git,
    commit(message, files) {
      minutes += 1;
      for (const [name, text] of Object.entries(files)) {
        if (text === undefined) git("rm", "--quiet", name);
        else directory.write(name, text);
      }
      git("add", "--all");
      git("commit", "--quiet", "--message", message);
      return git("rev-parse", "HEAD").trim();
    },
  };
}
