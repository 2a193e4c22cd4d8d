import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** The example's repository, which `email-security init` also writes. */
export const GITOPS = "examples/gitops";

/** A step of a GitHub Actions job. */
export interface WorkflowStep {
  readonly name?: string;
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly run?: string;
  readonly shell?: string;
  readonly "working-directory"?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A GitHub Actions job. */
export interface WorkflowJob {
  readonly needs?: string;
  readonly if?: string;
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly WorkflowStep[];
}

/** A GitHub Actions workflow. */
export interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: unknown;
  readonly concurrency?: { readonly group: string; readonly "cancel-in-progress": boolean };
  readonly jobs: Readonly<Record<string, WorkflowJob>>;
}

export const WORKFLOWS = ["pull-request", "approvals", "merge", "drift", "expire", "review", "sync"] as const;

export function readWorkflow(name: (typeof WORKFLOWS)[number]): Workflow {
  return readFixture(GITOPS, `.github/workflows/${name}.yml`) as Workflow;
}

/** Returns the steps of the repository's own action, which prepares a job. */
export function getPreparationSteps(directory = GITOPS): readonly WorkflowStep[] {
  return (readFixture(directory, ".github/actions/prepare/action.yml") as { runs: { steps: WorkflowStep[] } }).runs
    .steps;
}

/** A job of a GitLab pipeline. */
export interface GitLabJob {
  readonly extends?: string;
  readonly script?: readonly string[];
  readonly before_script?: readonly string[];
  readonly secrets?: unknown;
  readonly resource_group?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly rules?: readonly {
    readonly if?: string;
    readonly when?: string;
    readonly allow_failure?: boolean;
  }[];
}

/** Returns GitLab's pipeline: its keywords and jobs by name. */
export function readGitLabPipeline(directory = GITOPS): Readonly<Record<string, unknown>> {
  return readFixture(directory, ".gitlab-ci.yml") as Record<string, unknown>;
}

/** Returns the jobs of a pipeline: the elements with a script. */
export function readGitLabJobs(
  directory = GITOPS,
): Readonly<Record<string, GitLabJob & { script: readonly string[] }>> {
  const jobs = Object.entries(readGitLabPipeline(directory)).filter(
    ([, job]) => typeof job === "object" && job !== null && "script" in job,
  );
  return Object.fromEntries(jobs) as Record<string, GitLabJob & { script: readonly string[] }>;
}

function readFixture(directory: string, path: string): unknown {
  return parse(readFileSync(join(directory, path), "utf8"));
}
