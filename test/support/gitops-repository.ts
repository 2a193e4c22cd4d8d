import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { requireEngine } from "../../provider/engine";
import { GITOPS } from "./pipeline-files";
import { linkPackages } from "./program-packages";

const run = promisify(execFile);

/** What a repository is made with. */
export interface RepositoryOptions {
  /** The service's address. */
  readonly url: string;
  /** The tenant's key, as the secret store has it. */
  readonly key: string;
}

/**
 * The example as a git repository with a remote, in a folder of its own, and the environment of its pipeline: the real
 * Pulumi CLI on a file backend with the stack "production".
 */
export class GitopsRepository implements AsyncDisposable {
  /** Somebody's clone, in which branches are written. */
  readonly clone: string;
  /** The bare repository that stands for the host's. */
  readonly origin: string;
  readonly key: string;
  /** What is configured for the pipeline. */
  readonly variables: Readonly<Record<string, string>>;
  /** What every job of it finds in its environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** For what a test needs beside; removed at the end. */
  readonly top: string;

  private constructor(top: string, { url, key }: RepositoryOptions, environment: NodeJS.ProcessEnv) {
    this.top = top;
    this.clone = join(top, "clone");
    this.origin = join(top, "origin.git");
    this.key = key;
    this.environment = environment;
    this.variables = { EMAIL_SECURITY_BASE_URL: url, PULUMI_BACKEND_URL: `file://${join(top, "state")}` };
  }

  static async create(options: RepositoryOptions): Promise<GitopsRepository> {
    const top = await mkdtemp(join(tmpdir(), "email-security-gitops-"));
    const commands = join(top, "commands");
    for (const name of ["state", "home", "commands"]) await mkdir(join(top, name));
    // What is installed is this package as it is built; the registry has another.
    await linkPackages(top);
    const install = `ln -sfn '${join(top, "node_modules")}' node_modules`;
    await writeFile(join(commands, "npm"), `#!/bin/sh\n[ "$*" = "ci --ignore-scripts" ] && exec ${install}\nexit 64\n`);
    await chmod(join(commands, "npm"), 0o755);
    const engine = await requireEngine();
    const { PATH, ...environment } = engine.environment({
      PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
      HOME: join(top, "home"),
      GIT_CONFIG_NOSYSTEM: "1",
      PULUMI_HOME: join(top, "home", ".pulumi"),
      // In the place of a key management service.
      PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    });
    const repository = new GitopsRepository(top, options, {
      ...environment,
      PATH: [commands, PATH].join(delimiter),
    });
    await repository.#begin();
    return repository;
  }

  async #begin(): Promise<void> {
    await cp(GITOPS, this.clone, { recursive: true, filter: (path) => !path.includes("node_modules") });
    await symlink(join(this.top, "node_modules"), join(this.clone, "node_modules"));
    await this.git("init", "--quiet", "--initial-branch=main");
    await this.git("config", "user.name", "Dana Reyes");
    await this.git("config", "user.email", "dana.reyes@acme.example");
    const env = { ...this.environment, ...this.variables };
    await run("pulumi", ["--non-interactive", "stack", "init", "production"], { cwd: this.clone, env });
    await run("git", ["init", "--quiet", "--bare", "--initial-branch=main", this.origin]);
    await run("git", ["config", "receive.advertisePushOptions", "true"], { cwd: this.origin });
    await this.git("remote", "add", "origin", this.origin);
    await this.commit("The settings as they are");
    await this.git("push", "--quiet", "origin", "main");
  }

  /** Puts a command on the pipeline's PATH. */
  async install(name: string, file: string): Promise<void> {
    const command = join(this.top, "commands", name);
    await cp(file, command);
    await chmod(command, 0o755);
  }

  /** A new clone of the remote, at a branch's tip, as a runner makes it. */
  async checkout(branch = "main"): Promise<string> {
    const workspace = await mkdtemp(join(this.top, "workspace-"));
    await run("git", ["clone", "--quiet", this.origin, workspace]);
    await run("git", ["switch", "--quiet", "--detach", `origin/${branch}`], { cwd: workspace });
    return workspace;
  }

  /** Runs git in the clone; answers what it printed. */
  async git(...args: string[]): Promise<string> {
    const { stdout } = await run("git", args, { cwd: this.clone, env: this.environment });
    return stdout.trim();
  }

  /** Changes a file of the clone, which must have the text. */
  async edit(path: string, from: string, to: string): Promise<void> {
    const text = await readFile(join(this.clone, path), "utf8");
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
    await writeFile(
      join(this.clone, path),
      text.replace(from, () => to),
    );
  }

  async commit(message: string): Promise<void> {
    await this.git("add", "--all", ":!node_modules");
    await this.git("commit", "--quiet", "--message", message);
  }

  /** Begins a branch at main, has it written, and pushes it. */
  async branch(name: string, write: () => Promise<void>): Promise<void> {
    await this.git("switch", "--quiet", "--force-create", name, "main");
    await write();
    await this.commit(name);
    await this.git("push", "--quiet", "--force", "origin", name);
    await this.git("switch", "--quiet", "main");
  }

  /** Merges a branch as "Squash and merge" does: one new commit, which the branch has not. */
  async squash(branch: string): Promise<void> {
    await this.git("merge", "--quiet", "--squash", branch);
    await this.commit(`${branch}, squashed`);
    await this.git("push", "--quiet", "origin", "main");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.top, { recursive: true, force: true });
  }
}
