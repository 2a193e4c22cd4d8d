import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runActionlint } from "../../support/actionlint";
import type { Workflow, WorkflowJob } from "../../support/pipeline-files";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { missingZizmor, runZizmor } from "../../support/zizmor";

const DIRECTORY = ".github/workflows";
const NAMES = ["ci", "release"] as const;

async function readRepositoryWorkflow(name: (typeof NAMES)[number]): Promise<Workflow> {
  return parse(await readFile(`${DIRECTORY}/${name}.yml`, "utf8")) as Workflow;
}

/** Creates a directory that holds only the workflows, with one of them edited. */
async function createWorkflowDirectory(edit: (release: string) => string = (text) => text): Promise<TestDirectory> {
  const directory = createTestDirectory();
  await cp(DIRECTORY, join(directory.path, DIRECTORY), { recursive: true });
  const file = join(directory.path, DIRECTORY, "release.yml");
  await writeFile(file, edit(await readFile(file, "utf8")));
  return directory;
}

describe("workflows of this repository", () => {
  it("pass actionlint", async () => {
    await using directory = await createWorkflowDirectory();
    expect(await runActionlint(directory.path)).toEqual([]);
    await using wrong = await createWorkflowDirectory((text) =>
      text.replace("steps.login.outputs", "steps.logon.outputs"),
    );
    expect((await runActionlint(wrong.path)).join("\n")).toContain('property "logon" is not defined');
  });

  it.skipIf(missingZizmor)(`have no zizmor finding ${missingZizmor ?? ""}`, async () => {
    await using directory = await createWorkflowDirectory();
    expect(await runZizmor(directory.path)).toEqual([]);
    await using wrong = await createWorkflowDirectory((text) =>
      text.replaceAll("persist-credentials: false", "persist-credentials: true"),
    );
    expect(await runZizmor(wrong.path)).not.toEqual([]);
  });

  it.skipIf(missingZizmor)(`include an example for forks without a zizmor finding ${missingZizmor ?? ""}`, async () => {
    using directory = createTestDirectory();
    const file = ".github/workflows/approvals.yml";
    await cp(join("examples/gitops", file), join(directory.path, file));
    expect(await runZizmor(directory.path)).toEqual([]);
  });

  it.each(NAMES)("grant permissions per job only: %s", async (name) => {
    const { permissions, jobs } = await readRepositoryWorkflow(name);
    expect(permissions).toEqual({});
    for (const job of Object.values(jobs)) {
      expect(job.permissions).toBeDefined();
      expect(job["timeout-minutes"]).toBeGreaterThan(0);
    }
  });

  it("publish only from jobs in the release environment", async () => {
    const { build, ...others } = (await readRepositoryWorkflow("release")).jobs;
    expect(build?.permissions).toEqual({ contents: "read" });
    expect(JSON.stringify(build)).not.toContain("secrets.");
    for (const [name, job] of Object.entries<WorkflowJob>(others)) {
      expect({ name, environment: job.environment, needs: job.needs }).toEqual({
        name,
        environment: "release",
        needs: name === "github" ? "build" : "github",
      });
    }
  });

  it("release only what is checked and tested", async () => {
    const runs = (await readRepositoryWorkflow("release")).jobs["build"]?.steps.flatMap(({ run }) => run ?? []);
    expect(runs?.slice(1)).toEqual(["npm run check", "npm test", "npm run test:all", "npm run release:build"]);
  });
});
