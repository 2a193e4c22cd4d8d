import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { requireEngine } from "../../provider/engine";
import { GITOPS } from "./pipeline-files";
import { linkPackages } from "./program-packages";

const run = promisify(execFile);

/** The options of a repository. */
export interface RepositoryOptions {
  /** The service's address. */
  readonly url: string;
  /** The tenant's key, as stored in the secret store. */
  readonly key: string;
}

/**
 * The example as a Git repository with a remote, in its own directory, and the environment of its pipeline: the real
 * Pulumi CLI on a file backend with the stack "production".
 */
export class GitopsRepository implements AsyncDisposable {
  /** A clone in which a person writes branches. */
  readonly clone: string;
  /** The bare repository that stands in for the remote host's. */
  readonly origin: string;
  readonly key: string;
  /** The variables configured for the pipeline. */
  readonly variables: Readonly<Record<string, string>>;
  /** The environment of every pipeline job. */
  readonly environment: NodeJS.ProcessEnv;
  /** The directory that holds all of the above, and a test's additional files; removed at the end. */
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
    // The install step links this package as built, since the registry has another version.
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
      // Replaces a key management service.
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

  /** Creates a new clone of the remote at a branch's tip, as a runner does. */
  async checkout(branch = "main"): Promise<string> {
    const workspace = await mkdtemp(join(this.top, "workspace-"));
    await run("git", ["clone", "--quiet", this.origin, workspace]);
    await run("git", ["switch", "--quiet", "--detach", `origin/${branch}`], { cwd: workspace });
    return workspace;
  }

  /** Runs git in the clone and returns its output. */
  async git(...args: string[]): Promise<string> {
    const { stdout } = await run("git", args, { cwd: this.clone, env: this.environment });
    return stdout.trim();
  }

  /**
   * Replaces text in a file of the clone.
   *
   * @throws if the file doesn't contain it.
   */
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

  /** Starts a branch at main, lets the callback write it, and pushes it. */
  async pushBranch(name: string, write: () => Promise<void>): Promise<void> {
    await this.git("switch", "--quiet", "--force-create", name, "main");
    await write();
    await this.commit(name);
    await this.git("push", "--quiet", "--force", "origin", name);
    await this.git("switch", "--quiet", "main");
  }

  /** Merges a branch as "Squash and merge" does: with one new commit, which the branch itself doesn't have. */
  async squash(branch: string): Promise<void> {
    await this.git("merge", "--quiet", "--squash", branch);
    await this.commit(`${branch}, squashed`);
    await this.git("push", "--quiet", "origin", "main");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.top, { recursive: true, force: true });
  }
}
