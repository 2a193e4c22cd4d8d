import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import type { FleetStatus } from "../../../provider/fleet/status/status-schema";
import { buildDomainFingerprint, collectMailDomains } from "../../../provider/model/mail-domains";
import { buildTenantIdentity, shrinkIdentity, type TenantIdentity } from "../../../provider/model/tenant-identity";
import { getObservedIdentity, readObservedState } from "../../../provider/plan/observed-state";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import type { StackMarker } from "../../../provider/rollout/model/stack-marker";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { click } from "../../support/tenant-console";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "./plan-fleet";

/*
 * Without a journal, the markers in stack state identify the tenant of a key. Runs the real command, with a Pulumi that
 * isn't started.
 */

const ROLLOUT = "20261120-1200-abcdef";

/** Returns the state of a stack that a rollout changed, with its list's declarations. */
function buildStackState(
  name: string,
  identity: TenantIdentity,
  entries: Record<string, string>,
  fields: Partial<StackMarker> = {},
): object {
  const root = "pulumi:pulumi:Stack";
  const parent = "email-security:index:TenantSettings";
  const list = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
  const buildUrn = (types: string, resource: string): string => `urn:pulumi:${name}::fleet::${types}::${resource}`;
  const marker = { rollout: ROLLOUT, seq: 1, at: "2026-11-20T12:00:00.000Z", identity, ...fields };
  return {
    manifest: {},
    resources: [
      { urn: buildUrn(root, `fleet-${name}`), type: root, outputs: { emailSecurityRollout: marker } },
      { urn: buildUrn(parent, name), type: parent },
      { urn: buildUrn(`${parent}$${list}`, name), type: list, outputs: { entries } },
    ],
  };
}

describe.skipIf(!hasShell)("a rollout without a journal", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
  });
  afterEach(() => {
    for (const directory of ["state/.pulumi", ".email-security"])
      rmSync(join(fleet.directory, directory), { recursive: true, force: true });
  });
  afterAll(async () => await fleet?.[Symbol.asyncDispose]());

  const getSecondKey = (name: string): string =>
    fleet.sandbox.tenants.find((tenant) => tenant.name === name)?.apiKeys.console ?? "";

  async function readIdentity(name: string): Promise<TenantIdentity> {
    const client = new SettingsClient({ baseUrl: fleet.sandbox.url, apiKey: getSecondKey(name) });
    const observed = await readObservedState(client);
    await client.close();
    return shrinkIdentity(getObservedIdentity(fleet.sandbox.url, observed));
  }

  it("rejects the key of a tenant outside the selection", async () => {
    fleet.writeStackState("held", buildStackState("held", await readIdentity("held"), { "evil.example": "deny" }));
    const own = await fleet.runPlan(["--only", "t3"]);
    expect(own.code, own.stderr).toBe(2);
    const wrong = await fleet.runPlan(["--only", "t3"], { T3_KEY: getSecondKey("held") });
    expect(wrong.code, wrong.stderr).toBe(3);
    expect(wrong.stderr).toMatch(/"t3" \([^)]+\) belongs to the tenant of "held" \([^)]+; read by the rollout 2026/);
  });

  it("rejects a stack whose marker names another tenant", async () => {
    const former = buildTenantIdentity(fleet.sandbox.url, { rows: [], mailboxes: ["ceo@gone.example"] });
    fleet.writeStackState("held", buildStackState("held", former, { "evil.example": "deny" }));
    const { code, stdout, stderr } = await fleet.runPlan(["--only", "held"]);
    expect(code, stderr).toBe(3);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(`another tenant of the service than the rollout ${ROLLOUT} read`);
  });

  it("rejects a tenant that holds nothing that the marker recorded", async () => {
    const rows = [0, 1, 2].map((index) => ({
      id: `7f3c1b9e-52aa-4d0e-8b16-00000000000${index}`,
      entry_type: "domain",
      value: `gone${index}.example`,
      created_at: "2026-11-02 09:00:00",
    }));
    const former = buildTenantIdentity(fleet.sandbox.url, { rows, mailboxes: ["ceo@gone.example"] });
    fleet.writeStackState("held", buildStackState("held", former, { "gone0.example": "deny" }));
    const { code, stdout, stderr } = await fleet.runPlan(["--only", "held"]);
    expect(code, stderr).toBe(3);
    const text = stdout.replaceAll(/\s+/g, " ");
    expect(text).toContain(`another tenant of the service than the rollout ${ROLLOUT} read`);
    expect(text).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=held");
    const accepted = await fleet.runPlan(["--only", "held"], { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "held" });
    expect(accepted.code, accepted.stderr).toBe(2);
  });

  it("sends no extra request for the comparison", async () => {
    const plain = await fleet.runPlan(["--only", "held"]);
    const requests = fleet.sandbox.requests.length;
    expect(plain.code, plain.stderr).toBe(2);
    fleet.writeStackState("held", buildStackState("held", await readIdentity("held"), { "evil.example": "deny" }));
    fleet.writeStackState("t3", buildStackState("t3", await readIdentity("t3"), {}));
    await fleet.runPlan(["--only", "held"]);
    expect(fleet.sandbox.requests).toHaveLength(requests);
  });

  it.each([
    ["people", [], ["evil.example"]],
    ["entries", [0, 1, 2], ["evil.example", "gone0.example"]],
  ])("refuses to destroy at a tenant with none of the recorded %s", async (_label, rowNumbers, declared) => {
    const rows = rowNumbers.map((index) => ({
      id: `7f3c1b9e-52aa-4d0e-8b16-00000000000${index}`,
      entry_type: "domain",
      value: `gone${index}.example`,
      created_at: "2026-11-02 09:00:00",
    }));
    const former = buildTenantIdentity(fleet.sandbox.url, { rows, mailboxes: ["ceo@gone.example"] });
    const entries = Object.fromEntries(declared.map((value) => [value, "deny"]));
    fleet.writeStackState("held", buildStackState("held", former, entries));
    const destroy = ["tenant", "remove", "held", "--destroy"];
    const { code, stdout, stderr } = await fleet.run(destroy);
    expect(code, stderr + stdout).toBe(3);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(`another tenant of the service than the rollout ${ROLLOUT} read`);
    const accepted = await fleet.run(destroy, { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "held" });
    expect(accepted.code, accepted.stderr + accepted.stdout).toBe(2);
    expect(accepted.stdout).toContain("1 to remove");
    fleet.writeStackState("held", buildStackState("held", await readIdentity("held"), entries));
    const own = await fleet.run(destroy);
    expect(own.code, own.stderr + own.stdout).toBe(2);
  });

  it("refuses to destroy at another tenant though a rollout with another state backend read it", async () => {
    const own = await readIdentity("held");
    await using journal = await openFleetJournal(await openJournalDatabase(join(fleet.directory, "j.db")), "another");
    await journal.rollout(new Map(), { held: "unchanged" }, "fleet", new Map([["held", { identity: own }]]));
    const former = buildTenantIdentity(fleet.sandbox.url, { rows: [], mailboxes: ["ceo@gone.example"] });
    fleet.writeStackState("held", buildStackState("held", former, { "evil.example": "deny" }));
    const { code, stdout, stderr } = await fleet.run(["tenant", "remove", "held", "--destroy", "--database", "j.db"]);
    expect(code, stderr + stdout).toBe(3);
  });

  it.each([
    ["of the right tenant", 2, "right.db"],
    ["of another tenant", 3, "other.db"],
  ])("prefers a newer marker %s to the journal's record", async (_label, code, file) => {
    const own = await readIdentity("held");
    const former = buildTenantIdentity(fleet.sandbox.url, { rows: [], mailboxes: ["ceo@gone.example"] });
    const [newer, older] = _label === "of the right tenant" ? [own, former] : [former, own];
    const backend = { PULUMI_BACKEND_URL: `file://${fleet.directory}/state` };
    const database = await openJournalDatabase(join(fleet.directory, file));
    await using journal = await openFleetJournal(database, resolveStateBackend(backend, fleet.directory).fingerprint);
    const domain = older === own ? "fleet.example" : "gone.example";
    const fingerprint = buildDomainFingerprint(collectMailDomains([`ceo@${domain}`], true)) ?? "";
    await journal.rollout(
      new Map(),
      { held: "unchanged" },
      "fleet",
      new Map([["held", { identity: older, fingerprint }]]),
    );
    fleet.writeStackState(
      "held",
      buildStackState("held", newer, { "evil.example": "deny" }, { seq: 2, acceptedSeq: 2 }),
    );
    const planned = await fleet.runPlan(["--only", "held", "--database", file]);
    expect(planned.code, planned.stderr + planned.stdout).toBe(code);
    const destroyed = await fleet.run(["tenant", "remove", "held", "--destroy", "--database", file]);
    const status = await fleet.run(["fleet", "status", "--only", "held", "--database", file, "--format", "json"]);
    expect((JSON.parse(status.stdout) as FleetStatus).tenants[0]?.syncStatus === "wrong-key").toBe(code === 3);
    expect(destroyed.code, destroyed.stderr + destroyed.stdout).toBe(code);
  });

  it("keeps a stack with few declarations when a key belongs to an empty tenant", async () => {
    await click(fleet.sandbox, "POST", "/vip_employees/remove", { emails: ["ceo-t1@fleet.example"] }, "t1");
    const former = buildTenantIdentity(fleet.sandbox.url, { rows: [], mailboxes: ["ceo@gone.example"] });
    fleet.writeStackState("t1", buildStackState("t1", former, { "gone.example": "deny" }));
    const destroy = ["tenant", "remove", "t1", "--destroy"];
    const rejection = await fleet.run(destroy);
    expect(rejection.code, rejection.stderr + rejection.stdout).toBe(3);
    expect(rejection.stdout).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=t1");
    const accepted = await fleet.run(destroy, { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "t1" });
    expect(accepted.code, accepted.stderr + accepted.stdout).toBe(2);
  });

  it("destroys at an emptied tenant once a person accepts it", async () => {
    const entries = Object.fromEntries([0, 1, 2, 3, 4, 5].map((index) => [`gone${index}.example`, "deny"]));
    fleet.writeStackState("held", buildStackState("held", await readIdentity("held"), entries));
    const destroy = ["tenant", "remove", "held", "--destroy"];
    const rejection = await fleet.run(destroy);
    expect(rejection.code, rejection.stderr + rejection.stdout).toBe(3);
    expect(rejection.stdout).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=held");
    const accepted = await fleet.run(destroy, { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "held" });
    expect(accepted.code, accepted.stderr + accepted.stdout).toBe(2);
  });
});
