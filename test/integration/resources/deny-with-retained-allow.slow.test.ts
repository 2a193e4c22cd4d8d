import { describe, expect, it } from "vitest";
import { formatPlanDigest, hashChanges, hashTenant } from "../../../provider/model/plan-digest";
import { LiteralService, type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";
import { ProviderProcess } from "../../support/provider-process";
import { createTestDirectory } from "../../support/test-directory";

/*
 * A resource that leaves the program with `retainOnDelete` keeps its row at the service, and the provider isn't
 * notified. An existing deny of the same value must not be reported as successful while such an allow exists.
 */

const VALUE = "evil.example";
const deny = { list: "deny", value: VALUE };
const allow = { list: "allow", value: VALUE, acceptRisk: "a partner" };
const KINDS = ["allowDenyEntry", "allowDenyList"] as const;

function declareDeny(kind: (typeof KINDS)[number], comment: string): Record<string, unknown> {
  if (kind === "allowDenyEntry") return { ...deny, comment };
  return { entries: { [VALUE]: `deny: ${comment}`, "other.example": "deny" } };
}

/** The deny of a kind, and another resource's allow of graymail, each in the state of an earlier run. */
async function applyBoth(tenant: LiteralTenant, kind: (typeof KINDS)[number]) {
  const [denied, retained] = [
    new ManagedResource(tenant, kind, { name: "denied", sharesRuns: true }),
    new ManagedResource(tenant, "allowDenyEntry", { name: "retained", sharesRuns: true }),
  ];
  await denied.up(declareDeny(kind, "INC-1"));
  await tenant.provider.startNextRun();
  await retained.up({ ...allow, verdictScope: "graymail" });
  await tenant.provider.startNextRun();
  return { denied, retained };
}

describe.each(KINDS)("deny of an %s that changes next to a retained allow of another scope", (kind) => {
  it("removes the allow if the stack has it", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const { denied, retained } = await applyBoth(tenant, kind);
    await retained.refresh();
    const up = await denied.up(declareDeny(kind, "INC-2"));
    expect(up, up.failures[""]).toMatchObject({ outcome: "updated", printed: expect.stringContaining("Removed") });
    expect(tenant.service.listContents()).not.toContain("allow evil.example");
    expect(tenant.service.listContents()).toContain("deny evil.example");
  });

  it("fails if the stack doesn't have it", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const { denied } = await applyBoth(tenant, kind);
    const up = await denied.up(declareDeny(kind, "INC-2"));
    expect(up.outcome).toMatch(/failed|partial/);
    expect(up.failures[""] + up.reasons.join()).toContain("ERR_EXISTS");
    expect(tenant.service.listContents()).toContain("allow evil.example");
  });

  it("keeps the allow that the program declares for the deny list", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const { denied, retained } = await applyBoth(tenant, kind);
    await retained.refresh();
    const [up, moved] = await Promise.all([
      denied.up(declareDeny(kind, "INC-2")),
      retained.up({ ...deny, verdictScope: "graymail" }),
    ]);
    expect([up.outcome, moved.outcome]).toEqual(["updated", "updated"]);
    expect(tenant.service.writes.some((write) => write.startsWith("DELETE"))).toBe(false);
  });
});

describe.each(KINDS)(
  "deny of an %s under an enforced plan, next to another resource's allow of another scope",
  (kind) => {
    const declared = kind === "allowDenyEntry" ? deny : { entries: { [VALUE]: "deny" } };
    const addsDeny = { kind: "entry", key: VALUE, after: { list: "deny" } };
    const removesAllow = {
      kind: "entry",
      key: `${VALUE} (graymail)`,
      before: { list: "allow", acceptRisk: allow.acceptRisk },
    };

    it.each([
      ["fails if the plan doesn't show the allow's removal", [addsDeny]],
      ["removes the allow if the plan shows that", [addsDeny, removesAllow]],
    ])("%s", async (_label, changes) => {
      await using service = await LiteralService.start({ allowsDuplicates: true });
      using plan = writePlan(service.url, changes);
      const access = { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: "key" };
      await using before = await ProviderProcess.start({ environment: access });
      await using enforced = await ProviderProcess.start({
        environment: { ...access, EMAIL_SECURITY_PLAN: plan.file },
      });
      const run = { provider: before };
      const retained = new ManagedResource(run, "allowDenyEntry", { name: "retained", sharesRuns: true });
      await retained.up({ ...allow, verdictScope: "graymail" });
      run.provider = enforced;
      await retained.refresh();
      const up = await new ManagedResource(run, kind, { name: "denied", sharesRuns: true }).up(declared);
      if (changes.includes(removesAllow)) {
        expect(up, up.failures[""]).toMatchObject({ outcome: "created" });
        expect(service.listContents()).toEqual(["deny evil.example"]);
      } else {
        expect(up.failures[""]).toContain("ERR_EXISTS");
        expect(service.listContents()).toEqual(["allow evil.example"]);
      }
    });
  },
);

/** Writes a reviewed plan of these changes. */
function writePlan(url: string, changes: readonly object[]) {
  const { host } = new URL(url);
  const parts = {
    tenant: hashTenant(host, undefined),
    desired: "0".repeat(16),
    observed: hashChanges(changes as Parameters<typeof hashChanges>[0]),
  };
  const directory = createTestDirectory({});
  directory.write(
    "plan.json",
    JSON.stringify({ digest: formatPlanDigest(parts), tenant: { host }, source: { kind: "files" }, changes }),
  );
  return { file: directory.at("plan.json"), [Symbol.dispose]: () => directory[Symbol.dispose]() };
}
