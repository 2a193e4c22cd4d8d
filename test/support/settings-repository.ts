import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { createSettingsDirectory, type SettingsDirectory } from "./settings-directory";

/** A git repository with settings files, all committed on `main`. */
export interface SettingsRepository extends SettingsDirectory {
  readonly git: (...args: string[]) => string;
  /** Writes an executable shell script. */
  readonly program: (name: string, script: string) => string;
}

export function settingsRepository(files: Readonly<Record<string, string>>): SettingsRepository {
  const directory = createSettingsDirectory(files);
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: directory.path, encoding: "utf8" });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Dana");
  git("config", "user.email", "dana@acme.example");
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
  return {
    ...directory,
    git,
    program(name, script) {
      directory.write(name, `#!/bin/sh\n${script}\n`);
      chmodSync(directory.at(name), 0o755);
      return directory.at(name);
    },
  };
}

/** Adds a remote whose host is never contacted: git over ssh reads and writes a local directory, which is returned. */
export function withRemote(repository: SettingsRepository, address: string): SettingsDirectory {
  const remote = createSettingsDirectory({});
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", remote.path]);
  // git passes the remote's command as the last argument: `git-upload-pack '/acme/settings.git'`.
  const script = `for last; do :; done\nprogram="\${last%% *}"\nexec git "\${program#git-}" '${remote.path}'`;
  const ssh = repository.program(join(".git", "ssh"), script);
  repository.git("config", "core.sshCommand", ssh);
  repository.git("config", "ssh.variant", "ssh");
  repository.git("remote", "add", "origin", address);
  return remote;
}
