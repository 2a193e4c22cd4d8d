import { execFile } from "node:child_process";
import { cp, mkdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { runStep } from "../support/github/workflow-run";
import { SmallGitLab, TOKEN } from "../support/gitlab/small-gitlab";
import { GitopsRepository, type RepositoryOptions } from "../support/gitops-repository";
import { readGitLabJobs, readGitLabPipeline } from "../support/pipeline-files";

/** The result of a job. */
export interface GitLabRun {
  readonly code: number;
  readonly log: string;
  readonly workspace: string;
}

/**
 * The example on GitLab: its job scripts run unmodified and call a minimal GitLab on loopback over HTTP, also
 * for fetches and pushes. Simulated are the artifacts, by copying files, `glab`, and Vault.
 */
export class SimulatedGitLabProject implements AsyncDisposable {
  readonly git: GitopsRepository;
  readonly #gitLab: SmallGitLab;

  private constructor(git: GitopsRepository, gitLab: SmallGitLab) {
    this.git = git;
    this.#gitLab = gitLab;
  }

  static async create(options: RepositoryOptions): Promise<SimulatedGitLabProject> {
    const git = await GitopsRepository.create(options);
    const gitLab = await SmallGitLab.start(git.origin);
    await git.install("glab", resolve("test/support/gitlab/glab.mjs"));
    // Jobs push with https, which a server on loopback doesn't speak.
    const redirect = `url.${gitLab.origin.replace("//", `//project:${TOKEN}@`)}/.insteadOf`;
    await git.git("config", "--global", redirect, `https://project:${TOKEN}@gitlab.example/`);
    return new SimulatedGitLabProject(git, gitLab);
  }

  get packages(): SmallGitLab["packages"] {
    return this.#gitLab.packages;
  }

  get notes(): SmallGitLab["notes"] {
    return this.#gitLab.notes;
  }

  get approvedBy(): SmallGitLab["approvedBy"] {
    return this.#gitLab.approvedBy;
  }

  get mergeRequests(): SmallGitLab["mergeRequests"] {
    return this.#gitLab.mergeRequests;
  }

  get issues(): SmallGitLab["issues"] {
    return this.#gitLab.issues;
  }

  /**
   * Runs a job on a branch.
   *
   * @param before an earlier job whose artifacts it receives.
   * @param variables the pipeline's additional or overridden variables.
   */
  async run(name: string, branch = "main", before?: GitLabRun, variables: NodeJS.ProcessEnv = {}): Promise<GitLabRun> {
    const job = readGitLabJobs()[name];
    if (job === undefined) throw new Error(`there is no job ${name}`);
    const workspace = await this.git.checkout(branch);
    await promisify(execFile)("git", ["remote", "set-url", "origin", this.#gitLab.cloneUrl], { cwd: workspace });
    for (const directory of ["new-plan", "drift", "review"]) {
      if (before !== undefined)
        await cp(join(before.workspace, directory), join(workspace, directory), COPY).catch(() => {});
    }
    const builds = join(this.git.top, "builds");
    await mkdir(builds, { recursive: true });
    const hidden = readGitLabPipeline()[job.extends ?? ""] as TenantJob | undefined;
    const standard = readGitLabPipeline()["default"] as { before_script: string[] };
    const environment: NodeJS.ProcessEnv = {
      ...this.git.environment,
      ...this.git.variables,
      ...this.#gitLab.environment,
      CI_BUILDS_DIR: builds,
      CI_DEFAULT_BRANCH: "main",
      CI_MERGE_REQUEST_IID: "3",
      CI_MERGE_REQUEST_PROJECT_ID: "7",
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "7",
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
      CI_PIPELINE_SOURCE: "push",
      CI_PROJECT_URL: "https://gitlab.example/acme/email-security",
    };
    const expand = (text: string): string => text.replace(/\$(\w+)/g, (_, name: string) => environment[name] ?? "");
    for (const [variable, text] of Object.entries(job.variables ?? {})) environment[variable] = expand(text);
    Object.assign(environment, variables);
    if (hidden !== undefined) {
      for (const [token, { aud }] of Object.entries(hidden.id_tokens)) environment[token] = `a token for ${aud}`;
      for (const secret of Object.keys(hidden.secrets)) environment[secret] ??= this.git.key;
      for (const [variable, text] of Object.entries(hidden.variables)) {
        environment[variable] = expand(text);
      }
    }
    const before_script = job.before_script ?? hidden?.before_script ?? standard.before_script;
    const script = ["set -o pipefail", ...before_script, ...job.script].join("\n");
    const { code, output } = await runStep({ run: script }, workspace, environment);
    return { code, log: output, workspace };
  }

  /** Reads a file that a job left behind. */
  async readArtifact(run: GitLabRun, path: string): Promise<string> {
    return await readFile(join(run.workspace, path), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gitLab[Symbol.dispose]();
    await this.git[Symbol.asyncDispose]();
  }
}

interface TenantJob {
  readonly id_tokens: Readonly<Record<string, { readonly aud: string }>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly before_script: readonly string[];
}

const COPY = { recursive: true } as const;
