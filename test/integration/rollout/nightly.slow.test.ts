import { existsSync, readdirSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import type { JobRun } from "../../support/github/workflow-run";
import { runStep } from "../../support/github/workflow-run";
import { SmallGitLab } from "../../support/gitlab/small-gitlab";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildConsoleEntry as entry, buildTenant as tenant } from "../../support/scenario-tenant";
import { click } from "../../support/tenant-console";
import { createTestDirectory } from "../../support/test-directory";
import { type Hook, startHook } from "../../support/webhook-receiver";
import { missingZizmor, runZizmor } from "../../support/zizmor";
import { NightlyExample } from "./nightly-pipelines";

/*
 * The nightly run of the rollout example: its real scripts and the built command, against the sandbox. All tests share
 * one repository, and each continues from the one before. Acme declares an entry that no rollout has applied yet;
 * initech has one that somebody added in the console.
 */

const AS_DECLARED = [entry("deny", "invoices-portal.example", "Invoice fraud, seen at three tenants in March")];

let sandbox: Sandbox;
let example: NightlyExample;
let hook: Hook;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "nightly",
      tenants: [
        tenant("acme", AS_DECLARED),
        tenant("globex", AS_DECLARED),
        tenant("initech", [...AS_DECLARED, entry("allow", "clicked.example", "phish at 2 am")]),
      ],
    },
  });
  hook = await startHook();
  const keys = Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [name, apiKeys.ci]));
  example = await NightlyExample.create(sandbox.url, keys);
  // From before each region had its own journal.
  await writeRegionJournal("eu", ["acme", "globex", "initech"]);
  const acme = join(example.repository, "settings/acme.yaml");
  await writeFile(acme, `${await readFile(acme, "utf8")}\ndeny: [parcel-tracking.example]\n`);
});

afterAll(async () => {
  await example?.[Symbol.asyncDispose]();
  await hook?.[Symbol.asyncDispose]();
  await sandbox?.close();
});

/** Writes a region's journal to the cache, as an earlier rollout leaves it. */
async function writeRegionJournal(region: string, tenants: readonly string[]): Promise<void> {
  const directory = join(example.getCacheDirectory(`rollout-${region}--0-1`), ".email-security");
  await mkdir(directory, { recursive: true });
  const { fingerprint } = resolveStateBackend({ PULUMI_BACKEND_URL: example.backend }, example.repository);
  await using journal = await openFleetJournal(await openJournalDatabase(join(directory, "rollouts.db")), fingerprint);
  const files = ["baseline", ...tenants].map(async (name): Promise<[string, Buffer]> => {
    const path = `settings/${name}.yaml`;
    return [path, await readFile(join(example.repository, path))];
  });
  const states = Object.fromEntries(tenants.map((name) => [name, "unchanged" as const]));
  await journal.rollout(new Map(await Promise.all(files)), states, "email-security");
}

/** Runs a night on GitHub; each job gets the results of the jobs before it. */
async function runNight(vars: object = {}): Promise<Record<"turn" | "eu" | "us" | "fleet" | "report", JobRun>> {
  example.startNextNight();
  await example.clearCalls();
  const secrets = { NOTIFY_WEBHOOK: hook.url };
  const turn = await example.runGitHubJob("turn");
  const runRegion = async (region: string): Promise<JobRun> =>
    await example.runGitHubJob("reconcile", { matrix: { region }, needs: { turn }, vars });
  const [eu, us] = [await runRegion("eu"), await runRegion("us")];
  const fleet = await example.runGitHubJob("fleet", { needs: { reconcile: eu }, secrets, vars });
  const report = await example.runGitHubJob("report", { needs: { fleet } });
  return { turn, eu, us, fleet, report };
}

const listIssues = async () =>
  (await example.readState()).issues.map(({ number, state, label }) => [number, state, label]);

it("opens one drift issue after expired entries are removed", async () => {
  await example.change(({ runs }) => runs.push({ workflow: "rollout-matrix.yml", status: "completed" }));
  const { turn, eu, us, fleet, report } = await runNight({ PUBLISH_SITE: "yes" });
  expect(turn).toMatchObject({ result: "success", outputs: { free: "yes" } });
  for (const job of [eu, us, fleet, report]) expect(job.result, job.log).toBe("success");
  expect(await example.readCalls()).toEqual([
    "rollout tenants.yaml --label region=eu --only-expired --yes --output expired.md",
    "rollout prune --older-than 180d --yes",
    "rollout tenants.yaml --label region=us --only-expired --yes --output expired.md",
    "fleet site fleet/site --database journals/eu/rollouts.db --output fleet/fleet.md --output fleet/fleet.json --notify fleet/sent.json",
  ]);
  expect(fleet.outputs).toEqual({ drift: "yes" });
  expect(fleet.summary).toContain("1 behind their files, 1 drifted");
  expect(await listIssues()).toEqual([[1, "open", "email-security-fleet"]]);
  const [issue] = (await example.readState()).issues;
  expect(issue?.body).toContain("clicked.example");
  expect(hook.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { kind: "drift", tenants: ["initech"] },
  ]);
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  // The data kept for the next night contains no entries.
  const kept = readdirSync(example.getCacheDirectory("fleet-1-1"), { recursive: true, withFileTypes: true });
  expect(kept.filter((file) => file.isFile()).map(({ name }) => name.replace(/^\d.*Z/, "RUN"))).toEqual(
    expect.arrayContaining(["RUN.json", "sent.json"]),
  );
  for (const file of kept.filter((dirent) => dirent.isFile())) {
    expect(await readFile(join(file.parentPath, file.name), "utf8")).not.toContain("clicked.example");
  }
});

it("changes nothing while a rollout is in progress", async () => {
  await example.change(({ runs }) => runs.push({ workflow: "rollout-matrix.yml", status: "waiting" }));
  const { turn, eu, us, fleet, report } = await runNight({ REVERT_DRIFT: "yes", PUBLISH_SITE: "yes" });
  expect(turn.outputs).toEqual({ free: "" });
  expect(turn.summary).toContain("This run reads the tenants and changes none");
  for (const job of [eu, us, fleet, report]) expect(job.result, job.log).toBe("success");
  expect((await example.readCalls()).map((call) => call.split(" ").slice(0, 2).join(" "))).toEqual(["fleet site"]);
  expect(existsSync(example.getCacheDirectory("rollout-eu--2-1"))).toBe(false);
  // Nothing is new, and the site includes the previous night.
  expect(hook.received).toHaveLength(1);
  expect(readdirSync(join(example.getCacheDirectory("fleet-2-1"), "fleet/site/data/runs"))).toHaveLength(2);
  expect(await listIssues()).toEqual([[1, "open", "email-security-fleet"]]);
  const publish = await example.runGitHubJob("publish", { needs: { fleet }, vars: { PUBLISH_SITE: "yes" } });
  expect(publish.result).toBe("success");
  expect(await example.runGitHubJob("publish", { needs: { fleet } })).toMatchObject({ result: "skipped" });
  await example.change(({ runs }) => runs.splice(0));
});

it("fails when a tenant is unreadable", async () => {
  const row = sandbox.allowDenyEntries("initech").find(({ value }) => value === "clicked.example");
  await click(sandbox, "DELETE", `/allow_deny_entries/${row?.id}`, undefined, "initech");
  const broken = join(example.repository, "settings/globex.yaml");
  const text = await readFile(broken, "utf8");
  await writeFile(broken, "version: 1\ndeny: [nonsense]\n");
  const { fleet, report } = await runNight({ REVERT_DRIFT: "yes" });
  expect(await example.readCalls()).toContain(
    "rollout tenants.yaml --label region=us --revert-drift --yes --output reverted.md",
  );
  expect(fleet).toMatchObject({ result: "failure", code: 1, outputs: { drift: "unknown" } });
  expect(report.result).toBe("success");
  expect(await listIssues()).toEqual([[1, "open", "email-security-fleet"]]);
  await writeFile(broken, text);
});

it("closes the issue once no drift is left", async () => {
  const { fleet, report } = await runNight();
  expect([fleet.outputs["drift"], report.result]).toEqual(["no", "success"]);
  expect(await listIssues()).toEqual([[1, "closed", "email-security-fleet"]]);

  example.startNextNight();
  sandbox.clearRequests();
  const lost = await example.runGitHubJob("fleet", { needs: { reconcile: { result: "failure" } } });
  expect(lost).toMatchObject({ result: "failure", code: 1, outputs: { drift: "" } });
  expect(sandbox.requests).toEqual([]);
  expect(await example.runGitHubJob("report", { needs: { fleet: lost } })).toMatchObject({ result: "skipped" });
  expect(await example.runGitHubJob("fleet", { needs: { reconcile: { result: "skipped" } } })).toMatchObject({
    result: "skipped",
  });
});

it("maintains the drift issue on GitLab", async () => {
  await example.clearCalls();
  using gitLab = await SmallGitLab.start();
  await click(sandbox, "POST", "/allow_deny_entries", CLICKED, "initech");
  await cp(example.getCacheDirectory("rollout-eu--0-1"), example.repository, { recursive: true });
  const eu = await example.runGitLabJob("reconcile", { REGION: "eu", ROLLOUT_ENDS: "3", REVERT_DRIFT: "yes" });
  const us = await example.runGitLabJob("reconcile", { REGION: "us" });
  expect([eu.code, us.code], eu.output + us.output).toEqual([3, 0]);
  const fleet = await example.runGitLabJob("fleet", {}, [eu.workspace, us.workspace]);
  expect(fleet.code, fleet.output).toBe(0);
  expect(await example.readCalls()).toEqual([
    "rollout tenants.yaml --label region=eu --only-expired --yes --output expired.md",
    "rollout tenants.yaml --label region=eu --revert-drift --yes --output reverted.md",
    "rollout prune --older-than 180d --yes",
    "rollout tenants.yaml --label region=us --only-expired --yes --output expired.md",
    "rollout prune --older-than 180d --yes",
    "fleet site fleet/site --database journals/eu/rollouts.db --database journals/us/rollouts.db --output fleet/fleet.md --output fleet/fleet.json --notify fleet/sent.json",
  ]);
  const runReportJob = async () => await example.runGitLabJob("report", gitLab.environment, [fleet.workspace]);
  for (const time of [1, 2]) expect(await runReportJob(), `report ${time}`).toMatchObject({ code: 0 });
  expect(gitLab.issues).toMatchObject([{ state: "opened", title: "Drift in tenants", labels: "email-security-fleet" }]);
  expect(gitLab.issues[0]?.description).toContain("clicked.example");
  for (const [drift, state] of [
    ["unknown", "opened"],
    ["no", "closed"],
  ]) {
    await writeFile(join(fleet.workspace, "fleet/drift"), `${drift}\n`);
    expect(await runReportJob()).toMatchObject({ code: 0 });
    expect(gitLab.issues.map((issue) => issue.state)).toEqual([state]);
  }
  const lost = await example.runGitLabJob("fleet", {}, [eu.workspace]);
  expect([lost.code, existsSync(join(lost.workspace, "fleet/fleet.json"))]).toEqual([1, false]);
});

it("runs every step on Kubernetes even if one fails", async () => {
  await example.clearCalls();
  const manifest = parse(await readFile(join(example.repository, "kubernetes/nightly.yaml"), "utf8")) as {
    spec: { jobTemplate: { spec: { template: { spec: { containers: Container[] } } } } };
  };
  const [container] = manifest.spec.jobTemplate.spec.template.spec.containers;
  expect(container?.command).toEqual(["/bin/bash", "-c"]);
  const environment = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
  const workspace = join(example.repository, "../kubernetes-work");
  await cp(example.repository, workspace, { recursive: true });
  // There must have been rollouts, or there would be nothing to prune.
  await cp(example.getCacheDirectory("rollout-eu--0-1"), workspace, { recursive: true });
  const FLEET = join(workspace, "fleet");
  const runContainer = async (more: NodeJS.ProcessEnv) =>
    await runStep({ run: container?.args[0] ?? "" }, workspace, {
      ...example.environment,
      ...environment,
      HOME: workspace,
      FLEET,
      ...more,
    });
  const { code, output } = await runContainer({ ROLLOUT_ENDS: "3" });
  expect(code, output).toBe(3);
  expect(await example.readCalls()).toEqual([
    "rollout tenants.yaml --only-expired --yes",
    "rollout prune --older-than 180d --yes",
    `fleet site ${FLEET}/site --notify ${FLEET}/sent.json`,
  ]);
  expect(existsSync(join(FLEET, "site/index.html"))).toBe(true);
});

it.skipIf(missingZizmor)(`has no workflow with a zizmor finding ${missingZizmor ?? ""}`, async () => {
  using directory = createTestDirectory();
  await cp("examples/rollout/.github", join(directory.path, ".github"), { recursive: true });
  expect(await runZizmor(directory.path)).toEqual([]);
});

interface Container {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

const CLICKED = { list: "allow", entry_type: "domain", value: "clicked.example", comment: "again" };
