import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { ensureEngine } from "../../../provider/engine";
import { GITOPS, type Job, preparation, type Step, type WORKFLOWS, workflow } from "../pipeline-files";
import { type Action, type Contexts, type JobRun, runJob, runStep } from "./workflow-run";

const run = promisify(execFile);

/** What stands in for GitHub: artifacts, comments, issues and pull requests, as `gh` tells them. */
export interface GitHubState {
  artifacts: { name: string; expired: boolean; created_at: string; workflow_run: Record<string, number> }[];
  comments: { id: number; issue: number; body: string; user: { login: string } }[];
  issues: { number: number; state: string; title: string; body: string }[];
  pulls: { head: string; title: string; body: string }[];
}

/** A pull request: which it is, and of which branch. */
export interface PullRequest {
  readonly number: number;
  readonly branch: string;
  /** Default: this repository. */
  readonly from?: string;
}

const REPOSITORY = "acme/email-security";
const REPOSITORY_ID = 1;

/**
 * The example as a git repository with a remote, and the pipeline that runs its workflows: the very commands, in bash,
 * with the real Pulumi CLI on a file backend. Simulated are the actions of others (checkout, artifacts, the secret store)
 * and `gh`.
 */
export class RepositoryOnGitHub implements AsyncDisposable {
  /** Somebody's clone, in which branches are written. */
  readonly clone: string;
  readonly #top: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #secrets: Readonly<Record<string, string>>;
  readonly #environment: NodeJS.ProcessEnv;
  #runs = 1_000;

  private constructor(
    top: string,
    variables: Record<string, string>,
    secrets: Record<string, string>,
    environment: NodeJS.ProcessEnv,
  ) {
    this.#top = top;
    this.clone = join(top, "clone");
    this.#variables = variables;
    this.#secrets = secrets;
    this.#environment = environment;
  }

  /** @param service the address, and the tenant's key as the secret store has it. */
  static async create({ url, key }: { url: string; key: string }): Promise<RepositoryOnGitHub> {
    const top = await mkdtemp(join(tmpdir(), "email-security-gitops-"));
    const [state, home, commands] = ["state", "home", "commands"].map((name) => join(top, name)) as [
      string,
      string,
      string,
    ];
    await Promise.all([state, home, commands].map((folder) => mkdir(folder)));
    await cp(resolve("test/support/github/gh.mjs"), join(commands, "gh"));
    // What is installed is this package as it is built; the registry has another.
    await writeFile(
      join(commands, "npm"),
      `#!/bin/sh\n[ "$*" = "ci --ignore-scripts" ] && exec ln -sfn '${resolve("node_modules")}' node_modules\nexit 64\n`,
    );
    for (const name of ["gh", "npm"]) await chmod(join(commands, name), 0o755);
    await writeFile(
      join(top, "github.json"),
      JSON.stringify({ artifacts: [], comments: [], issues: [], pulls: [] }),
    );
    const engine = await ensureEngine();
    const base = {
      PATH: [commands, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      HOME: home,
      GIT_CONFIG_NOSYSTEM: "1",
      PULUMI_HOME: join(home, ".pulumi"),
      // In the place of a key management service.
      PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
      GITHUB_REPOSITORY: REPOSITORY,
      GH_STATE: join(top, "github.json"),
    };
    const { PATH: withEngine, ...more } = engine.environment(base);
    const environment = { ...more, PATH: [commands, withEngine].join(delimiter) };
    const variables = {
      EMAIL_SECURITY_BASE_URL: url,
      PULUMI_BACKEND_URL: `file://${state}`,
      AWS_ROLE: "arn:aws:iam::000000000000:role/email-security",
      AWS_REGION: "eu-central-1",
      KEY_SECRET: "email-security/acme",
    };
    const repository = new RepositoryOnGitHub(top, variables, { "email-security/acme": key }, environment);
    await repository.#begin();
    return repository;
  }

  async #begin(): Promise<void> {
    await cp(GITOPS, this.clone, { recursive: true, filter: (path) => !path.includes("node_modules") });
    await symlink(resolve("node_modules"), join(this.clone, "node_modules"));
    await this.git("init", "--quiet", "--initial-branch=main");
    await this.git("config", "user.name", "Dana Reyes");
    await this.git("config", "user.email", "dana.reyes@acme.example");
    const env = { ...this.#environment, ...this.#variables };
    await run("pulumi", ["--non-interactive", "stack", "init", "production"], { cwd: this.clone, env });
    await run("git", ["init", "--quiet", "--bare", "--initial-branch=main", join(this.#top, "origin.git")]);
    await this.git("remote", "add", "origin", join(this.#top, "origin.git"));
    await this.commit("The settings as they are");
    await this.git("push", "--quiet", "origin", "main");
  }

  /** Runs git in the clone; answers what it printed. */
  async git(...args: string[]): Promise<string> {
    const { stdout } = await run("git", args, {
      cwd: this.clone,
      env: { ...this.#environment, ...GIT_DATES },
    });
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
    await this.commit(`${branch} (#1)`);
    await this.git("push", "--quiet", "origin", "main");
  }

  /** A job of the workflow of pull requests, on what main would hold. */
  async pullRequest(job: string, { number, branch, from = REPOSITORY }: PullRequest): Promise<JobRun> {
    const head = { repo: { full_name: from } };
    const event = { pull_request: { number, head, user: { login: "dana" } } };
    const isFork = from !== REPOSITORY;
    return await this.#run("pull-request", job, { github: { event } }, { merge: branch, isFork });
  }

  /** A job of another workflow, on main. */
  async onMain(name: "merge" | "drift", job: string, contexts: Contexts = {}): Promise<JobRun> {
    return await this.#run(name, job, contexts, {});
  }

  async state(): Promise<GitHubState> {
    return JSON.parse(await readFile(join(this.#top, "github.json"), "utf8")) as GitHubState;
  }

  /** Changes what GitHub holds, as somebody else may. */
  async setState(change: (state: GitHubState) => void): Promise<void> {
    const state = await this.state();
    change(state);
    await writeFile(join(this.#top, "github.json"), JSON.stringify(state));
  }

  /** The content of an artifact's file. */
  async artifact(name: string, file: string): Promise<string> {
    const { artifacts } = await this.state();
    const id = artifacts.findLast((one) => one.name === name)?.workflow_run["id"];
    return await readFile(join(this.#top, `artifacts/${id}/${name}`, file), "utf8");
  }

  /** The next run of a workflow begins: artifacts of this run can be seen by those later on. */
  nextRun(): void {
    this.#runs += 1;
  }

  async #run(
    name: (typeof WORKFLOWS)[number],
    jobName: string,
    contexts: Contexts,
    { merge, isFork = false }: { merge?: string; isFork?: boolean },
  ): Promise<JobRun> {
    const job = workflow(name).jobs[jobName];
    if (job === undefined) throw new Error(`${name} has no job ${jobName}`);
    const workspace = await mkdtemp(join(this.#top, `${jobName}-`));
    return await runJob({
      job: job as Job,
      workspace,
      environment: this.#environment,
      contexts: {
        vars: this.#variables,
        inputs: {},
        ...contexts,
        github: { repository: REPOSITORY, token: "a token", ...(contexts["github"] as object | undefined) },
      },
      actions: this.#actions(merge, isFork),
    });
  }

  /** The actions of others, simulated by copies of files. */
  #actions(merge: string | undefined, isFork: boolean): Record<string, Action> {
    const artifacts = (id: string | number, name: string): string =>
      join(this.#top, `artifacts/${id}/${name}`);
    return {
      "actions/checkout": async ({ workspace }) => {
        await run("git", ["clone", "--quiet", join(this.#top, "origin.git"), workspace]);
        if (merge === undefined) return;
        const author = ["-c", "user.name=GitHub", "-c", "user.email=noreply@github.com"];
        await run("git", [...author, "merge", "--quiet", "--no-ff", "--no-edit", `origin/${merge}`], {
          cwd: workspace,
        });
      },
      "actions/setup-node": async () => {},
      "pulumi/actions": async () => {},
      "aws-actions/configure-aws-credentials": async ({ with: { "role-to-assume": role }, environment }) => {
        environment["AWS_ROLE_TAKEN_ON"] = role;
      },
      "aws-actions/aws-secretsmanager-get-secrets": async ({ with: given, environment }) => {
        if (environment["AWS_ROLE_TAKEN_ON"] !== this.#variables["AWS_ROLE"])
          throw new Error("no role was taken on");
        const [variable = "", secret = ""] = (given["secret-ids"] ?? "").trim().split(", ");
        environment[variable] = this.#secrets[secret];
      },
      "./.github/actions/prepare": async ({ with: inputs, workspace, environment, contexts }) => {
        const nested: Record<string, Action> = this.#actions(merge, isFork);
        for (const step of preparation(workspace)) {
          await this.#nestedStep(step, nested, { inputs, workspace, environment, contexts });
        }
      },
      "actions/upload-artifact": async ({ with: { name = "", path = "" }, workspace }) => {
        await cp(join(workspace, path), artifacts(this.#runs, name), { recursive: true });
        const head = isFork ? REPOSITORY_ID + 1 : REPOSITORY_ID;
        await this.setState((state) => {
          state.artifacts.push({
            name,
            expired: false,
            created_at: new Date(this.#runs * 60_000).toISOString(),
            workflow_run: { id: this.#runs, repository_id: REPOSITORY_ID, head_repository_id: head },
          });
        });
      },
      "actions/download-artifact": async ({ with: given, workspace }) => {
        const { name = "", path = "", "run-id": id = this.#runs } = given;
        await cp(artifacts(id, name), join(workspace, path), { recursive: true });
      },
      "github/codeql-action/upload-sarif": async ({ with: { sarif_file: file = "" }, workspace }) => {
        await cp(join(workspace, file), join(this.#top, "uploaded.sarif"));
      },
    };
  }

  async #nestedStep(
    { uses, run: script, with: given = {} }: Step,
    actions: Record<string, Action>,
    {
      inputs,
      workspace,
      environment,
      contexts,
    }: {
      inputs: Readonly<Record<string, string>>;
      workspace: string;
      environment: Record<string, string | undefined>;
      contexts: Contexts;
    },
  ): Promise<void> {
    if (uses === undefined) {
      const { code, output } = await runStep({ run: script ?? "" }, workspace, environment);
      if (code !== 0) throw new Error(`${script} ended with ${code}: ${output}`);
      return;
    }
    const action = actions[uses.replace(/@.*$/, "")];
    if (action === undefined) throw new Error(`no action ${uses} is simulated`);
    const filled = Object.entries(given).map(([key, text]) => [
      key,
      String(text).replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name: string) => inputs[name] ?? ""),
    ]);
    await action({ with: Object.fromEntries(filled), workspace, environment, contexts });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#top, { recursive: true, force: true });
  }
}

/** The same commits at every run of the tests. */
const GIT_DATES = { GIT_AUTHOR_DATE: "2026-11-21T12:00:00Z", GIT_COMMITTER_DATE: "2026-11-21T12:00:00Z" };
