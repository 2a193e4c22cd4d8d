import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import manifest from "../../provider/package.json";
import type { RolloutReport } from "../../provider/rollout/model/rollout-report";
import type { Sandbox } from "../../provider/sandbox";
import type { CliResult } from "../support/cli";
import type { EngineProject } from "../support/engine-project";
import { COMMENT, leaveAll, listReleases, PROVIDERS, StoredRelease } from "../support/release-fixture";

/*
 * Upgrades from earlier releases. The state that each release leaves behind is stored in test/fixtures/releases, and
 * all later releases continue from it.
 */

it.runIf(process.env["EMAIL_SECURITY_TEST_KEEP_RELEASE"])("stores what this release leaves behind", async () => {
  await using world = await StoredRelease.startBlank();
  await leaveAll(world);
  await world.keepAs(manifest.version);
});

describe.each(listReleases())("data from release %s", (release) => {
  it.each(PROVIDERS)("includes a stack of the %s provider that still works", async (providerKind) => {
    await using world = await StoredRelease.restore(release);
    const { sandbox } = world;
    const project = await world.getProject(providerKind);
    await project.runOrThrow("stack", "select", "dev");
    const before = await readStateResources(project);

    // The engine only reports the plugin's new version for the Provider. No other resource changes.
    const previewed = await project.runOrThrow("preview", "--json");
    const { steps } = JSON.parse(previewed.slice(previewed.indexOf("{"))) as { steps: PreviewStep[] };
    const changes = steps.filter(({ op }) => op !== "same");
    expect(changes.filter(({ urn }) => !urn.includes("::pulumi:providers:email-security::"))).toEqual([]);
    // The engine itself determines the plugin's source and version.
    const own = { version: "", __internal: {} };
    for (const { op, oldState, newState } of changes) {
      expect({ op, inputs: { ...oldState?.inputs, ...own } }).toEqual({
        op: "update",
        inputs: { ...newState?.inputs, ...own },
      });
    }
    expect(sandbox.requests).toEqual([]);
    await project.refresh("--expect-no-changes");
    expect(takeWrites(sandbox)).toEqual([]);
    expect(await readStateResources(project)).toEqual(before);

    const program = await readFile(join(project.directory, "index.ts"), "utf8");
    await project.write(program.replace(COMMENT, "closed"));
    expect(await project.up()).toContain(`~ ${1 + changes.length} updated`);
    const [entry] = sandbox.allowDenyEntries(providerKind).filter(({ value }) => value === "look-alike.example");
    expect(entry?.comment).toBe("closed");
    expect(takeWrites(sandbox)).toEqual([`PATCH /api/v1/settings/allow_deny_entries/${entry?.id}`]);

    await project.destroy();
    expect(formatContents(sandbox, providerKind)).toEqual([]);
    expect(await readStateResources(project)).toEqual([]);
  });

  it("continues plans and rollouts of a settings repository", async () => {
    await using world = await StoredRelease.restore(release);
    const { sandbox } = world;
    const { command } = await world.getRepository();
    const readNewestReport = async (): Promise<RolloutReport> =>
      JSON.parse((await command("rollout", "status", "--format", "json")).stdout) as RolloutReport;

    // The tenant matches the declarations, and the plan says so.
    const t0 = await world.getRepository("t0");
    const nothing = await t0.command("plan", "settings/t0.yaml", "--stack", "t0");
    expectExitCode(0, nothing);
    expect(nothing.output).toContain("No changes. 5 unchanged");

    // The journal contains the rollout that waits at its gate, and `resume` continues it.
    const waiting = await readNewestReport();
    expect(waiting).toMatchObject({ state: "waiting", counts: { done: 1, pending: 1 } });
    expectExitCode(0, await command("rollout", "resume"));
    expect(await readNewestReport()).toMatchObject({ id: waiting.id, state: "done", counts: { done: 2 } });
    const { stdout } = await command("rollout", "status", "--list");
    expect(stdout.match(/\bdone\b/g)).toHaveLength(2);
    expect(formatContents(sandbox, "t1")).toContain("deny evil1.example");
    sandbox.clearRequests();
    expectExitCode(0, await command("rollout", "--yes"));
    expect(takeWrites(sandbox)).toEqual([]);

    // The reviewed plan can be applied.
    expect(formatContents(sandbox, "solo")).not.toContain("deny reviewed.example");
    expectExitCode(0, await command("apply", "settings/solo.yaml", "--stack", "solo", "--plan", "plan.json", "--yes"));
    expect(formatContents(sandbox, "solo")).toContain("deny reviewed.example");
  });
});

/** A step of a preview. */
interface PreviewStep {
  readonly op: string;
  readonly urn: string;
  readonly oldState?: { readonly inputs: object };
  readonly newState?: { readonly inputs: object };
}

function expectExitCode(code: number, run: CliResult): void {
  expect(run.code, run.output).toBe(code);
}

/**
 * Returns our resources in the stack's state, without `people` (the mailboxes' identity), which a refresh adds to all
 * of them.
 */
async function readStateResources(project: EngineProject) {
  const { resources } = await project.exportState();
  return resources.map(({ urn, id, inputs, outputs: { people: _, ...outputs } = {} }) => {
    return { urn, id, inputs, outputs };
  });
}

/** Returns the writes since the last call. */
function takeWrites(sandbox: Sandbox): string[] {
  const writes = sandbox.requests.filter(({ method }) => method !== "GET");
  sandbox.clearRequests();
  return writes.map(({ method, path }) => `${method} ${path}`);
}

/** Returns all entries and VIPs of a tenant. */
function formatContents(sandbox: Sandbox, tenant: string): string[] {
  const entries = sandbox.allowDenyEntries(tenant).map(({ list, value }) => `${list} ${value}`);
  return [...entries, ...sandbox.vips(tenant).map(({ email }) => email)].sort();
}
