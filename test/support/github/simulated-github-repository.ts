import { execFile } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { GitopsRepository, type RepositoryOptions } from "../gitops-repository";
import { buildGoTool } from "../go-tool";
import { getPreparationSteps, readWorkflow, type WORKFLOWS, type WorkflowStep } from "../pipeline-files";
import { buildSshScript } from "../settings-repository";
import { type Contexts, type JobRun, runJob, runStep, type SimulatedAction } from "./workflow-run";

const run = promisify(execFile);

/** The state of the simulated GitHub: artifacts, comments, issues and pull requests, in the shape that `gh` returns. */
export interface GitHubState {
  artifacts: {
    name: string;
    expired: boolean;
    created_at: string;
    workflow_run: { id: number; repository_id: number; head_repository_id: number };
  }[];
  comments: { id: number; issue: number; body: string; user: { login: string } }[];
  issues: { number: number; state: string; label: string; title: string; body: string }[];
  reviews: {
    pull: number;
    user: { login: string };
    state: string;
    commit_id: string;
    submitted_at: string;
  }[];
  pulls: {
    number: number;
    state: string;
    isCrossRepository: boolean;
    head: string;
    title: string;
    body: string;
  }[];
}

/** A pull request's number and branch. */
export interface SimulatedPullRequest {
  readonly number: number;
  readonly branch: string;
  /** Its source repository. Default: this one. */
  readonly from?: string;
}

const REPOSITORY = "acme/email-security";
const REPOSITORY_ID = 1;
const ROLE = "arn:aws:iam::000000000000:role/email-security";

/**
 * The example on GitHub: its workflows run unmodified. Simulated are third-party actions (checkout, artifacts, the
 * secret store), by copying files, and `gh`.
 */
export class SimulatedGitHubRepository implements AsyncDisposable {
  readonly git: GitopsRepository;
  /** The logs and summaries of all jobs. */
  readonly outputs: string[] = [];
  #runs = 1_000;

  private constructor(git: GitopsRepository) {
    this.git = git;
  }

  static async create(options: RepositoryOptions): Promise<SimulatedGitHubRepository> {
    const git = await GitopsRepository.create(options);
    await git.install("gh", resolve("test/support/github/gh.mjs"));
    // Filters run with gojq, the implementation that GitHub's own CLI uses.
    await git.install("gojq", await buildGoTool("github.com/itchyny/gojq", "gojq"));
    const ssh = join(git.top, "commands/ssh-to-github");
    await writeFile(ssh, `#!/bin/sh\n${buildSshScript(git.origin)}\n`, { mode: 0o755 });
    await git.git("config", "--global", "core.sshCommand", ssh);
    await git.git("config", "--global", "ssh.variant", "ssh");
    const repository = new SimulatedGitHubRepository(git);
    await repository.#write({ artifacts: [], comments: [], issues: [], reviews: [], pulls: [] });
    return repository;
  }

  /** Runs a job of the pull request workflow, on the merge result. */
  async pullRequest(job: string, { number, branch, from = REPOSITORY }: SimulatedPullRequest): Promise<JobRun> {
    const head = { repo: { full_name: from } };
    const event = { pull_request: { number, head, user: { login: "dana" } } };
    return await this.#run("pull-request", job, { github: { event } }, { merge: branch, from });
  }

  /** Runs the workflow that is triggered by a review, on the merge result. */
  async runReviewWorkflow({ number, branch, from = REPOSITORY }: SimulatedPullRequest): Promise<JobRun> {
    const event = {
      pull_request: { number, base: { ref: branch }, user: { login: "dana" } },
      repository: { default_branch: "main" },
    };
    const contexts = { github: { event_name: "pull_request_review", event } };
    return await this.#run("approvals", "approvals", contexts, { merge: branch, from });
  }

  /** Runs a job of another workflow on main: after a push, on schedule, or as the contexts specify. */
  async runJobOnMain(
    name: "merge" | "drift" | "expire" | "review" | "sync",
    job: string,
    contexts: Contexts = {},
  ): Promise<JobRun> {
    const github = {
      event_name: name === "merge" ? "push" : "schedule",
      ...(contexts["github"] as object | undefined),
    };
    return await this.#run(name, job, { ...contexts, github }, { from: REPOSITORY });
  }

  async readState(): Promise<GitHubState> {
    return JSON.parse(await readFile(this.#stateFile, "utf8")) as GitHubState;
  }

  /** Changes GitHub's contents, as another user might. */
  async change(change: (state: GitHubState) => void): Promise<void> {
    const state = await this.readState();
    change(state);
    await this.#write(state);
  }

  /** Returns the content of a file in the newest artifact of that name. */
  async readArtifact(name: string, file: string): Promise<string> {
    const { artifacts } = await this.readState();
    const id = artifacts.findLast((artifact) => artifact.name === name)?.workflow_run.id ?? 0;
    return await readFile(join(this.#artifact(id, name), file), "utf8");
  }

  /** Returns the content of every file of every artifact. */
  async readArtifacts(): Promise<string[]> {
    const files = await readdir(join(this.git.top, "artifacts"), { recursive: true, withFileTypes: true });
    return await Promise.all(
      files
        .filter((file) => file.isFile())
        .map(async (file) => await readFile(join(file.parentPath, file.name), "utf8")),
    );
  }

  /** Starts another workflow run: jobs of one run see each other's artifacts. */
  startNextRun(): void {
    this.#runs += 1;
  }

  get #stateFile(): string {
    return join(this.git.top, "state.json");
  }

  async #write(state: GitHubState): Promise<void> {
    await writeFile(this.#stateFile, JSON.stringify(state));
  }

  #artifact(id: string | number, name: string): string {
    return join(this.git.top, `artifacts/${id}/${name}`);
  }

  async #run(
    name: (typeof WORKFLOWS)[number],
    jobName: string,
    contexts: Contexts,
    origin: { merge?: string; from: string },
  ): Promise<JobRun> {
    const job = readWorkflow(name).jobs[jobName];
    if (job === undefined) throw new Error(`${name} has no job ${jobName}`);
    const { environment, variables } = this.git;
    const done = await runJob({
      job,
      workspace: await this.git.checkout(),
      environment: { ...environment, GITHUB_REPOSITORY: REPOSITORY, GH_CONFIG_DIR: this.git.top },
      contexts: {
        inputs: {},
        ...contexts,
        vars: {
          ...variables,
          AWS_ROLE: ROLE,
          AWS_REGION: "eu-central-1",
          KEY_SECRET: "email-security/acme",
          ...(contexts["vars"] as object | undefined),
        },
        github: { repository: REPOSITORY, token: "a token", ...(contexts["github"] as object | undefined) },
      },
      actions: this.#actions(origin),
    });
    this.outputs.push(done.log, done.summary);
    return done;
  }

  #actions({ merge, from }: { merge?: string; from: string }): Record<string, SimulatedAction> {
    const others: Record<string, SimulatedAction> = {
      // The workspace is already a clone of main; for a pull request it is the merge result.
      "actions/checkout": async ({ workspace }) => {
        await run("git", ["remote", "set-url", "origin", `git@github.com:${REPOSITORY}.git`], { cwd: workspace });
        await run("git", ["switch", "--quiet", "main"], { cwd: workspace });
        if (merge === undefined) return;
        const author = ["-c", "user.name=GitHub", "-c", "user.email=noreply@github.com"];
        const args = ["merge", "--quiet", "--no-ff", "--no-edit", `origin/${merge}`];
        await run("git", [...author, ...args], { cwd: workspace });
      },
      "actions/setup-node": async () => {},
      "pulumi/actions": async () => {},
      "aws-actions/configure-aws-credentials": async ({ with: input, environment }) => {
        environment["ROLE_TAKEN_ON"] = input["role-to-assume"];
      },
      "aws-actions/aws-secretsmanager-get-secrets": async ({ with: input, environment }) => {
        const [variable = "", secret] = (input["secret-ids"] ?? "").trim().split(", ");
        if (environment["ROLE_TAKEN_ON"] !== ROLE || secret !== "email-security/acme") {
          throw new Error("the secret store refuses");
        }
        environment[variable] = this.git.key;
      },
      "actions/upload-artifact": async ({ with: { name = "", path = "" }, workspace }) => {
        await cp(join(workspace, path), this.#artifact(this.#runs, name), { recursive: true });
        const workflow_run = {
          id: this.#runs,
          repository_id: REPOSITORY_ID,
          head_repository_id: from === REPOSITORY ? REPOSITORY_ID : REPOSITORY_ID + 1,
        };
        const created_at = new Date(this.#runs * 60_000).toISOString();
        await this.change(({ artifacts }) => {
          artifacts.push({ name, expired: false, created_at, workflow_run });
        });
      },
      "actions/download-artifact": async ({ with: input, workspace }) => {
        const { name = "", path = "", "run-id": id = this.#runs } = input;
        await cp(this.#artifact(id, name), join(workspace, path), { recursive: true });
      },
      "github/codeql-action/upload-sarif": async ({ with: input, workspace }) => {
        await cp(join(workspace, input["sarif_file"] ?? ""), join(this.git.top, "uploaded.sarif"));
      },
    };
    return {
      ...others,
      "./.github/actions/prepare": async ({ with: inputs, ...context }) => {
        for (const step of getPreparationSteps(context.workspace))
          await prepare(step, others, { ...context, with: inputs });
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.git[Symbol.asyncDispose]();
  }
}

/** Runs a step of the repository's own action. */
async function prepare(
  { uses, run: script, with: input = {} }: WorkflowStep,
  actions: Readonly<Record<string, SimulatedAction>>,
  { with: inputs, ...rest }: Parameters<SimulatedAction>[0],
): Promise<void> {
  if (uses === undefined) {
    const { code, output } = await runStep({ run: script ?? "" }, rest.workspace, rest.environment);
    if (code !== 0) throw new Error(`${script} ended with ${code}: ${output}`);
    return;
  }
  const action = actions[uses.replace(/@.*$/, "")];
  if (action === undefined) throw new Error(`no action ${uses} is simulated`);
  const filled = Object.entries(input).map(([key, text]) => [
    key,
    String(text).replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name: string) => inputs[name] ?? ""),
  ]);
  await action({ ...rest, with: Object.fromEntries(filled) });
}
