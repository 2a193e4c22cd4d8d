import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { RECEIVER_ADDRESS_VARIABLES, WEBHOOK_SECRET_VARIABLE } from "../../../provider/rollout/notify/receivers";
import { runActionlint } from "../../support/actionlint";
import {
  GITOPS,
  type GitLabJob,
  getPreparationSteps,
  readGitLabJobs,
  readGitLabPipeline,
  readWorkflow,
  WORKFLOWS,
  type WorkflowJob,
  type WorkflowStep,
} from "../../support/pipeline-files";
import { createTestDirectory } from "../../support/test-directory";

const listJobs = (name: (typeof WORKFLOWS)[number]): [string, WorkflowJob][] =>
  Object.entries(readWorkflow(name).jobs).map(([job, value]) => [`${name}: ${job}`, value]);
const jobs = WORKFLOWS.flatMap(listJobs);
const steps: [string, WorkflowStep][] = [
  ...jobs.flatMap(([job, value]) => value.steps.map((step): [string, WorkflowStep] => [job, step])),
  ...getPreparationSteps().map((step): [string, WorkflowStep] => ["prepare", step]),
];
const scripts: [string, string][] = [
  ...steps.flatMap(([job, { name, run }]): [string, string][] => (run === undefined ? [] : [[`${job}: ${name}`, run]])),
  ...Object.entries(readGitLabJobs()).map(([job, { script }]): [string, string] => [
    `GitLab: ${job}`,
    script.join("\n"),
  ]),
];

/**
 * The `uses` lines of all workflows and actions in the examples and in this repository, by file, including their
 * trailing comments.
 */
const ACTIONS: [file: string, uses: string][] = globSync(["examples/**/.github/**/*.yml", ".github/workflows/*.yml"], {
  exclude: ["**/node_modules/**"],
}).flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(/^\s*(?:- )?uses: (.*)$/gm)].map(([, uses = ""]): [string, string] => [
    file,
    uses,
  ]),
);

/** Returns whether a job can access the tenant's key. */
const hasKey = ({ steps: own }: WorkflowJob): boolean => own.some(({ uses }) => uses === "./.github/actions/prepare");

describe("the GitHub pipeline", () => {
  it("has no actionlint findings", async () => {
    expect(await runActionlint(GITOPS)).toEqual([]);
  });

  it("has actionlint findings when it is broken", async () => {
    using directory = createTestDirectory();
    await cp(GITOPS, directory.path, { recursive: true });
    const file = join(directory.path, ".github/workflows/merge.yml");
    const text = await readFile(file, "utf8");
    await writeFile(
      file,
      text
        .replace("key-secret: ", "secret-key: ")
        .replace("steps.reviewed.outputs.run != ''", "steps.review.outputs.run != ''"),
    );
    const findings = (await runActionlint(directory.path)).join("\n");
    expect(findings).toContain('input "secret-key" is not defined in action "Prepare"');
    expect(findings).toContain('property "review" is not defined');
  });

  it("never uses a privileged pull request trigger", () => {
    expect(Object.keys(readWorkflow("pull-request").on)).toEqual(["pull_request"]);
    for (const name of WORKFLOWS) {
      expect(Object.keys(readWorkflow(name).on)).not.toContain("pull_request_target");
      expect(Object.keys(readWorkflow(name).on)).not.toContain("workflow_run");
    }
  });

  it.each(WORKFLOWS)("grants no permissions at workflow level: %s", (name) => {
    expect(readWorkflow(name).permissions).toEqual({});
  });

  it.each(jobs)("sets a timeout and permissions for each job: %s", (_name, job) => {
    expect(job["timeout-minutes"]).toBeGreaterThan(0);
    expect(job.permissions).toBeDefined();
    expect(Object.values(job.permissions ?? {}).filter((right) => !["read", "write"].includes(right))).toEqual([]);
  });

  it.each(jobs)("gives the key only to environment jobs without write access: %s", (_name, job) => {
    if (job.environment !== "sources") expect(job.environment !== undefined).toBe(hasKey(job));
    expect(job.permissions?.["id-token"]).toBe(hasKey(job) ? "write" : undefined);
    if (hasKey(job)) expect(job.permissions?.["contents"]).toBe("read");
  });

  it("gives no key to a pull request from a fork", () => {
    const { lint, plan } = readWorkflow("pull-request").jobs;
    expect(lint && hasKey(lint)).toBe(false);
    expect(plan?.if).toContain("github.event.pull_request.head.repo.full_name == github.repository");
  });

  it("checks approvals after each review, without a key", () => {
    const { on, jobs: own } = readWorkflow("approvals");
    expect(on).toEqual({ pull_request_review: { types: ["submitted", "dismissed"] } });
    expect(Object.keys(own)).toEqual(["approvals"]);
    expect(own["approvals"]).not.toHaveProperty("if");
    expect(own["approvals"]?.permissions).toEqual({ contents: "read", "pull-requests": "read" });
    // Code from the pull request runs without the token.
    const tokenSteps = own["approvals"]?.steps.filter(({ env }) => env?.["GH_TOKEN"] !== undefined);
    expect(tokenSteps?.map(({ run }) => run?.split(" ")[0])).toEqual(["gh"]);
    // The approvals are checked against the default branch. Otherwise a pull request to another branch that already
    // contains the changes would pass, and its result would also count for the same commit in a pull request to main.
    expect(own["approvals"]?.steps.find(({ name }) => name === "Check the approvals")?.env).toEqual({
      AUTHOR: expect.stringContaining(" github.event.pull_request.user.login "),
      BASE: expect.stringContaining(" github.event.repository.default_branch "),
    });
  });

  it("reads sources without the tenant's key", () => {
    const { on, jobs: own } = readWorkflow("sync");
    expect(Object.keys(on)).toEqual(["schedule", "workflow_dispatch"]);
    const { sync } = own;
    expect(sync && hasKey(sync)).toBe(false);
    expect(sync).toMatchObject({
      if: expect.stringContaining(" vars.EMAIL_SECURITY_SOURCES != '' "),
      environment: "sources",
      permissions: { contents: "write", "pull-requests": "write" },
      env: { EMAIL_SECURITY_SOURCES: expect.stringContaining(" vars.EMAIL_SECURITY_SOURCES ") },
    });
    const checkout = sync?.steps.find(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkout?.with).toEqual({ "fetch-depth": 0, "persist-credentials": false });
    const tokenSteps = sync?.steps.filter(({ env }) => env?.["GH_TOKEN"] !== undefined);
    expect(tokenSteps?.map(({ name }) => name)).toEqual(["Propose changes"]);
  });

  it("serializes applies without canceling a run", () => {
    expect(readWorkflow("merge").concurrency).toEqual({ group: "production", "cancel-in-progress": false });
    expect(readWorkflow("merge").jobs["apply"]?.environment).toBe("production");
    expect(readWorkflow("merge").jobs["approved"]?.environment).toBe("production-approval");
  });

  it.each(ACTIONS)("pins each action of a trusted owner to a commit: %s %s", (_file, uses) => {
    expect(uses).toMatch(
      /^(?:\.\/\.github\/\S+|(?:actions|github|pulumi|aws-actions|NuGet)\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/,
    );
  });

  it("pins each version of an action to one commit", () => {
    const pins = new Set(ACTIONS.map(([, uses]) => uses.replace(/^([\w-]+\/[\w-]+)[^@]*/, "$1")));
    const versions = [...pins].map((pin) => pin.replace(/@\S+/, ""));
    expect(versions.toSorted()).toEqual([...new Set(versions)].sort());
  });

  it.each(jobs.filter(([, job]) => hasKey(job)))(
    "sends the key only to the configured service: %s",
    (_name, { env }) => {
      expect(env?.["EMAIL_SECURITY_SERVICES"]).toBe(env?.["EMAIL_SECURITY_BASE_URL"]);
    },
  );
});

describe("the GitLab pipeline", () => {
  const validate = addFormats["default"](new Ajv({ strict: false, allErrors: true }));

  it("matches GitLab's schema", async () => {
    const schema = JSON.parse(await readFile("test/fixtures/gitlab/gitlab-ci.schema.json", "utf8")) as object;
    const isPipeline = validate.compile(schema);
    expect(isPipeline(readGitLabPipeline()), JSON.stringify(isPipeline.errors)).toBe(true);
    expect(isPipeline({ ...readGitLabPipeline(), apply: { script: [], resource_groups: "x" } })).toBe(false);
  });

  it("gives no key to a merge request from a fork", () => {
    const keyJobs = Object.entries(readGitLabJobs()).filter(([, job]) => job.extends === ".tenant");
    expect(keyJobs.map(([name]) => name)).toEqual(["plan", "apply", "approve", "expire", "drift", "review"]);
    expect(readGitLabJobs()["plan"]?.rules?.map((rule) => rule.if)).toEqual([
      '$CI_PIPELINE_SOURCE == "merge_request_event" && $CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID',
    ]);
  });

  it.each(["gitops", "rollout"])("installs Pulumi without exposing a secret: %s", async (name) => {
    using directory = createTestDirectory();
    const commands = join(directory.path, "commands");
    await mkdir(commands);
    for (const program of ["npm", "curl", "tar", "apt-get"]) {
      const file = join(commands, program);
      await writeFile(file, `#!/bin/sh\necho "${program} $(env | grep -c s3cret)" >> "$SEEN"\n`, {
        mode: 0o755,
      });
    }
    const pipeline = readGitLabPipeline(`examples/${name}`);
    const rollout = pipeline["rollout"] as GitLabJob | undefined;
    const job = pipeline[".tenant"] as GitLabJob & {
      readonly id_tokens: object;
      readonly variables: Record<string, string>;
    };
    const addresses = name === "gitops" ? [] : [...Object.values(RECEIVER_ADDRESS_VARIABLES), WEBHOOK_SECRET_VARIABLE];
    const named = { ...job.id_tokens, ...(job.secrets as object), ...(rollout?.secrets as object) };
    const secrets = [...Object.keys(named), "GITLAB_TOKEN", "CI_JOB_TOKEN", ...addresses];
    const install = job.before_script?.find((script) => script.includes("npm ci")) ?? "";
    const seen = join(directory.path, "seen");
    await promisify(execFile)("bash", ["-c", install], {
      env: {
        // A PATH without Pulumi.
        PATH: `${commands}:/usr/bin:/bin`,
        SEEN: seen,
        ...Object.fromEntries(secrets.map((secret) => [secret, "s3cret"])),
      },
    });
    const lines = (await readFile(seen, "utf8")).trim().split("\n");
    expect(lines).toEqual(expect.arrayContaining(["npm 0", "curl 0", "tar 0"]));
    expect(lines.filter((line) => !line.endsWith(" 0"))).toEqual([]);
  });

  it("blocks a merge request until approvals are checked by hand", () => {
    const { rules, script = [], ...job } = readGitLabJobs()["approvals"] ?? {};
    expect(rules).toEqual([
      { if: '$CI_PIPELINE_SOURCE == "merge_request_event"', when: "manual", allow_failure: false },
    ]);
    expect(job).not.toHaveProperty("extends");
    expect(script.join("\n")).toMatch(/ != "\$CI_MERGE_REQUEST_PROJECT_ID" \]; then\n.*\n {2}exit 1\n/);
    // The target branch may have changed by then.
    expect(script.join("\n")).toContain('\ngit fetch origin "$CI_DEFAULT_BRANCH"\n');
    expect(script.join("\n")).not.toContain("TARGET_BRANCH");
  });

  it("runs either the review or the nightly jobs on a schedule", () => {
    const listJobConditions = (name: string) => readGitLabJobs()[name]?.rules?.map((rule) => rule.if);
    for (const name of ["expire", "drift", "report", "propose"]) {
      expect(listJobConditions(name)).toEqual(['$CI_PIPELINE_SOURCE == "schedule" && $REVIEW != "yes"']);
    }
    expect(listJobConditions("sync")).toEqual([
      '$CI_PIPELINE_SOURCE == "schedule" && $REVIEW != "yes" && $EMAIL_SECURITY_SOURCES',
    ]);
    expect(listJobConditions("review")?.[0]).toBe('$CI_PIPELINE_SOURCE == "schedule" && $REVIEW == "yes"');
    expect(listJobConditions("report-review")).toEqual(listJobConditions("review"));
  });

  it("serializes applies", () => {
    expect(readGitLabJobs()["apply"]?.resource_group).toBe("production");
    expect(readGitLabJobs()["approve"]?.resource_group).toBe("production");
  });
});

/** Bash warns about a locale that the machine doesn't have. */
const BASH_ENV = { ...process.env, LC_ALL: "C" };

describe("every script", () => {
  it.each(scripts)("is valid bash: %s", async (_name, script) => {
    await expect(promisify(execFile)("bash", ["-n", "-c", script], { env: BASH_ENV })).resolves.toMatchObject({
      stderr: "",
    });
  });

  it.each(scripts.filter(([, script]) => script.includes("\n")))(
    "stops at the first failing line: %s",
    (_name, script) => {
      expect(script).toContain("set -euo pipefail\n");
    },
  );

  it.each(scripts)("contains no template expression: %s", (_name, script) => {
    expect(script).not.toContain("${{");
  });

  it.each(scripts)("runs the installed command, never one from the registry: %s", (_name, script) => {
    expect(script.match(/\bnpx (?!--no email-security )/g)).toBeNull();
  });
});
