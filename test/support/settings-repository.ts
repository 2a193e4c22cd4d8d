import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { devNull } from "node:os";
import { join } from "node:path";
import { runEnvironment } from "./run-environment";
import { createTestDirectory, type TestDirectory } from "./test-directory";

/** A git repository of settings files that ignores the user's own git configuration. */
export interface SettingsRepository extends TestDirectory {
  readonly git: (...args: string[]) => string;
  /** Writes files and commits them all; undefined removes a file. Returns the commit id. */
  readonly commit: (message: string, files: Readonly<Record<string, string | undefined>>) => string;
  /** Writes an executable shell script. */
  readonly writeScript: (name: string, script: string) => string;
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

/** @param files committed on `main`. Default: none, and no commit. */
export function createSettingsRepository(files: Readonly<Record<string, string>> = {}): SettingsRepository {
  const directory = createTestDirectory(files);
  let minutes = 0;
  const git = (...args: string[]): string => {
    const date = new Date(Date.UTC(2026, 9, 1, 8, minutes)).toISOString();
    return execFileSync("git", args, {
      cwd: directory.path,
      env: { ...runEnvironment(), ...GIT_ENVIRONMENT, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  };
  const repository: SettingsRepository = {
    ...directory,
    git,
    commit(message, changedFiles) {
      minutes += 1;
      for (const [name, text] of Object.entries(changedFiles)) {
        if (text === undefined) git("rm", "--quiet", name);
        else directory.write(name, text);
      }
      git("add", "--all");
      git("commit", "--quiet", "--message", message);
      return git("rev-parse", "HEAD").trim();
    },
    writeScript(name, script) {
      const file = directory.write(name, `#!/bin/sh\n${script}\n`);
      chmodSync(file, 0o755);
      return file;
    },
  };
  git("init", "--quiet", "--initial-branch=main");
  // The code under test commits with the repository's configuration.
  git("config", "user.name", GIT_ENVIRONMENT.GIT_AUTHOR_NAME);
  git("config", "user.email", GIT_ENVIRONMENT.GIT_AUTHOR_EMAIL);
  if (Object.keys(files).length > 0) repository.commit("first", {});
  return repository;
}

/** Adds a remote whose host is never contacted: git over ssh reads and writes a local directory, which is returned. */
export function addRemote(repository: SettingsRepository, address: string): TestDirectory {
  const remote = createTestDirectory();
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", remote.path]);
  const script = buildSshScript(remote.path);
  const ssh = repository.writeScript(join(".git", "ssh"), script);
  repository.git("config", "core.sshCommand", `"${ssh}"`);
  repository.git("config", "ssh.variant", "ssh");
  repository.git("remote", "add", "origin", address);
  return remote;
}

/** Builds a script that serves a local repository as the SSH client of git. */
export function buildSshScript(path: string): string {
  // git passes the remote's command as the last argument: `git-upload-pack '/acme/settings.git'`.
  return `for last; do :; done\nprogram="\${last%% *}"\nexec git "\${program#git-}" '${path}'`;
}
