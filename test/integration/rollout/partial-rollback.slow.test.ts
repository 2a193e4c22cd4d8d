import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import type { TenantIdentity } from "../../../provider/model/tenant-identity";
import { getObservedIdentity, readObservedState } from "../../../provider/plan/observed-state";
import { formatPlanJson } from "../../../provider/plan/render/plan-json";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { StackMarker } from "../../../provider/rollout/model/stack-marker";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { calmPlan } from "../../support/plans";
import { createTarget } from "../../support/rollout-target";
import { click } from "../../support/tenant-console";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "./plan-fleet";

/*
 * Rolls back a rollout whose additions are gone by now at two tenants. One of them has a wrong key; nothing is left to
 * do at the other. Runs the real command, with a Pulumi that isn't started.
 */

const ROLLED_OUT = ["t1", "t3", "held"];

describe.skipIf(!hasShell)("a rollback that leaves a tenant out", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
    for (const name of ROLLED_OUT) writeState(name);
    await recordRollout();
    await removeVips("t4");
  });
  afterAll(async () => await fleet?.[Symbol.asyncDispose]());

  const getServiceKey = (name: string, label: "ci" | "console" = "console"): string =>
    fleet.sandbox.tenants.find((tenant) => tenant.name === name)?.apiKeys[label] ?? "";

  /** Writes the state of a stack. @param marker what a rollout left in it. Default: nothing. */
  function writeState(name: string, marker?: StackMarker): void {
    const root = "pulumi:pulumi:Stack";
    const parent = "email-security:index:TenantSettings";
    const type = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
    const buildListUrn = (types: string): string => `urn:pulumi:${name}::fleet::${types}::${name}`;
    fleet.writeStackState(name, {
      manifest: {},
      resources: [
        { urn: buildListUrn(root), type: root, outputs: marker === undefined ? {} : { emailSecurityRollout: marker } },
        { urn: buildListUrn(parent), type: parent },
        { urn: buildListUrn(`${parent}$${type}`), type, outputs: { entries: { "evil.example": "deny" } } },
      ],
    });
  }

  async function useClient<T>(name: string, use: (client: SettingsClient) => Promise<T>): Promise<T> {
    const client = new SettingsClient({ baseUrl: fleet.sandbox.url, apiKey: getServiceKey(name) });
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  }

  async function removeVips(name: string): Promise<void> {
    const { vips } = await useClient(name, async (client) => await readObservedState(client));
    const emails = [...vips.values()].map(({ email }) => email);
    await click(fleet.sandbox, "POST", "/vip_employees/remove", { emails }, name);
    expect((await useClient(name, async (client) => await readObservedState(client))).vips.size).toBe(0);
  }

  /** Records a completed rollout that added entries to both tenants. */
  async function recordRollout(): Promise<void> {
    const identities = new Map<string, TenantIdentity>();
    for (const name of ROLLED_OUT) {
      const observed = await useClient(name, async (client) => await readObservedState(client));
      identities.set(name, getObservedIdentity(fleet.sandbox.url, observed));
    }
    const { fingerprint } = resolveStateBackend(
      { PULUMI_BACKEND_URL: `file://${fleet.directory}/state` },
      fleet.directory,
    );
    const journal = await Journal.open(await openJournalDatabase(join(fleet.directory, "j.db")));
    const wave = { name: "all", tenants: ROLLED_OUT, maxConcurrent: 3, tolerated: 0, soakMs: 0, gate: false };
    const spec = { source: "tenants.yaml", project: "fleet", today: "2026-11-20", services: [], waves: [wave] };
    const targets = ROLLED_OUT.map((name) => ({
      ...createTarget(name, fleet.sandbox.url),
      allowInsecureHttp: true,
      settings: `settings/${name}.yaml`,
    }));
    const id = await journal.create({ ...spec, backend: fingerprint }, targets);
    const changes = calmPlan.changes.filter(({ before }) => before === undefined);
    const tenants = ROLLED_OUT.map((name) => ({
      name,
      state: "pending" as const,
      digest: "d",
      plan: formatPlanJson({ ...calmPlan, changes }),
      summary: {
        planned: { added: changes.length, changed: 0, removed: 0 },
        changes: [],
        severities: { danger: 0, warning: 0 },
        resource: name,
        isStackThere: true,
        identity: identities.get(name) as TenantIdentity,
      },
    }));
    await journal.recordPlans(id, tenants);
    await journal.completePlanning(id, "d", { bundle: new Map(), directory: "." });
    await journal.start(id, { retry: false });
    const queue = { enqueue: async () => {}, start: () => {}, drain: async () => {} };
    await journal.dispatch(id, 0, ROLLED_OUT, queue);
    for (const tenant of ROLLED_OUT) {
      const claimed = await journal.claim({ rollout: id, wave: 0, tenant, retryRound: 0 }, "host:1");
      if (claimed === undefined) throw new Error(`${tenant} was not begun`);
      await journal.finish(claimed, undefined);
    }
    await journal.setWaveState(id, 0, "done");
    await journal.finishRollout(id);
    await journal.close();
  }

  it.each([
    ["an empty tenant", "t4"],
    ["a tenant with other VIPs", "t5"],
  ])("ends with 2 when a key opens %s", async (_label, other) => {
    const args = ["rollout", "rollback", "--database", "j.db"];
    const own = await fleet.run(args);
    expect(own.code, own.stderr + own.stdout).toBe(0);
    const { code, stdout, stderr } = await fleet.run(args, { T3_KEY: getServiceKey(other) });
    expect(code, stderr + stdout).toBe(2);
    expect(stderr).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=t3");
    expect(stderr).toContain("Some tenants are left out");
  });

  it("leaves out two tenants whose keys belong to the same one", async () => {
    const keys = { T3_KEY: getServiceKey("t5"), HELD_KEY: getServiceKey("t5", "ci") };
    const { code, stdout, stderr } = await fleet.run(["rollout", "rollback", "--database", "j.db"], keys);
    expect(code, stderr + stdout).toBe(2);
    expect(stderr).toContain("Some tenants are left out");
    expect(stderr).not.toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT");
  });

  describe("after a rollout with another journal", () => {
    const OTHER = { rollout: "20261127-1200-abcdef", seq: 9, at: "2026-11-27T12:00:00.000Z", isUnchanged: true };
    afterEach(() => writeState("t3"));

    it("isn't blocked if that rollout changed nothing", async () => {
      writeState("t3", OTHER);
      const { code, stdout, stderr } = await fleet.run(["rollout", "rollback", "--database", "j.db"]);
      expect(code, stderr + stdout).toBe(0);
      writeState("t3", { ...OTHER, isUnchanged: false });
      expect(await fleet.run(["rollout", "rollback", "--database", "j.db"])).toMatchObject({ code: 3 });
    });

    it("leaves out a tenant that isn't the one that a person accepted since", async () => {
      const identity = await useClient("t5", async (client) =>
        getObservedIdentity(fleet.sandbox.url, await readObservedState(client)),
      );
      writeState("t3", { ...OTHER, identity, acceptedSeq: 9 });
      const { code, stdout, stderr } = await fleet.run(["rollout", "rollback", "--database", "j.db"]);
      expect(code, stderr + stdout).toBe(2);
      expect(stderr).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=t3");
    });
  });
});
