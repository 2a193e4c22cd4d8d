import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { GitLabJob, Workflow } from "../../support/pipeline-files";

const readPullRequestWorkflow = (file: string) => parse(readFileSync(`examples/${file}`, "utf8")) as Workflow;

const own = readPullRequestWorkflow("rollout/.github/workflows/pull-request.yml");

it("gives keys only to the read-only plan job", () => {
  expect(own.permissions).toEqual({});
  expect(Object.keys(own)).toContain("on");
  expect(JSON.stringify(own)).not.toContain('pull_request_target":');
  const { plan, comment } = own.jobs;
  expect(plan).toMatchObject({ environment: "plan", permissions: { contents: "read" } });
  expect(plan?.if).toBe(readPullRequestWorkflow("gitops/.github/workflows/pull-request.yml").jobs["plan"]?.if);
  expect(comment?.permissions).toEqual({ "pull-requests": "write" });
  expect(JSON.stringify(comment)).not.toContain("secrets.");
  expect(comment).not.toHaveProperty("environment");
});

it("maintains one comment, found by its plan marker", () => {
  const findStep = (job: Workflow["jobs"][string] | undefined) => job?.steps.find(({ name }) => name === "Comment");
  const { jobs } = readPullRequestWorkflow("gitops/.github/workflows/pull-request.yml");
  expect(findStep(own.jobs["comment"])).toEqual(findStep(jobs["plan"]));
  expect(findStep(own.jobs["comment"])?.run).toContain("<!-- email-security-plan -->");
});

it("gives each secret only to the jobs that need it", () => {
  const { plan, comment, rollout } = parse(readFileSync("examples/rollout/.gitlab-ci.yml", "utf8")) as Record<
    string,
    GitLabJob & { readonly rules: readonly { readonly if: string }[] }
  >;
  const { plan: planJob } = parse(readFileSync("examples/gitops/.gitlab-ci.yml", "utf8"));
  expect(plan?.rules).toEqual(planJob.rules);
  expect(comment?.rules).toEqual(planJob.rules.map((rule: object) => ({ ...rule, when: "always" })));
  expect(rollout?.rules[0]?.if).toContain('!= "merge_request_event"');
  expect(JSON.stringify(plan)).not.toMatch(/GITLAB_TOKEN|--yes/);
  expect(comment).not.toHaveProperty("extends");
  expect(comment).not.toHaveProperty("secrets");
  // The note is posted in the same way as a single tenant's note.
  const listReportLines = (script: readonly string[]) =>
    script
      .join("\n")
      .split("\n")
      .filter((line) => /curl|note|body@/.test(line));
  expect(listReportLines(planJob.script).join("\n")).toContain(
    listReportLines(comment?.script ?? [])
      .slice(1)
      .join("\n"),
  );
});

it("fails on a risk or an unplannable tenant", () => {
  const { steps = [] } = own.jobs["plan"] ?? {};
  const [plan] = steps.filter(({ run = "" }) => run.includes("email-security"));
  expect(plan?.run).toContain("rollout tenants.yaml --fail-on risk");
  expect(JSON.stringify(steps)).not.toContain("--yes");
  expect(steps.at(-1)?.if).toBe(`\${{ steps.plan.outputs.code == '1' || steps.plan.outputs.code == '3' }}`);
});
