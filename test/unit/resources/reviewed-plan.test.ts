import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../../provider/model/list-arguments";
import { formatPlanDigest, hashChanges, hashTenant } from "../../../provider/model/plan-digest";
import { enforcePlan, isPlanEnforced } from "../../../provider/resources/lifecycle/enforce-plan";
import type { LifecycleContext } from "../../../provider/resources/lifecycle/lifecycle";
import { type PlanFile, readPlanFile, readReviewedPlan } from "../../../provider/resources/lifecycle/reviewed-plan";

const HOST = "mail-security.example";
const DENY = { list: "deny", comment: "INC-7" } as const;
const ALLOW = { list: "allow" } as const;

let directory: string;
let file: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-plan-"));
  file = join(directory, "plan.json");
});

afterAll(() => rmSync(directory, { recursive: true }));

function buildPlan({ changes = [], ...more }: Partial<PlanFile> = {}, stack = "acme"): PlanFile {
  const tenant = hashTenant(HOST, stack);
  return {
    digest: formatPlanDigest({ tenant, desired: "0".repeat(16), observed: hashChanges(changes) }),
    tenant: { host: HOST },
    source: { kind: "files", stack: "acme" },
    changes,
    ...more,
  };
}

function storePlan(plan: PlanFile, digest?: string): NodeJS.ProcessEnv {
  writeFileSync(file, JSON.stringify(plan));
  return { EMAIL_SECURITY_PLAN: file, ...(digest !== undefined && { EMAIL_SECURITY_PLAN_DIGEST: digest }) };
}

describe("plan file", () => {
  it.each([{}, { EMAIL_SECURITY_PLAN: "" }, { EMAIL_SECURITY_PLAN: "", EMAIL_SECURITY_PLAN_DIGEST: "" }])(
    "isn't read with %j",
    (environment) => {
      expect(readPlanFile(environment)).toBeUndefined();
      expect(readReviewedPlan(environment, HOST)).toBeUndefined();
    },
  );

  it("is required with a digest", () => {
    expect(() => readPlanFile({ EMAIL_SECURITY_PLAN_DIGEST: "v2" })).toThrow(
      "EMAIL_SECURITY_PLAN_DIGEST is set, but EMAIL_SECURITY_PLAN is not: set it to the plan's JSON file, or run `email-security apply --plan-digest`",
    );
  });

  it.each(["", undefined])("needs no digest in the environment: %j", (digest) => {
    expect(readPlanFile(storePlan(buildPlan(), digest))).toEqual(buildPlan());
  });

  it("is accepted with its digest and white space around it", () => {
    expect(readPlanFile(storePlan(buildPlan(), ` ${buildPlan().digest}\n`))).toEqual(buildPlan());
  });

  it("is rejected with the digest of another review", () => {
    expect(() => readPlanFile(storePlan(buildPlan(), "v2-other"))).toThrow(
      'doesn\'t have the digest "v2-other": it belongs to another review, or was changed. Nothing was changed at the tenant.',
    );
  });

  it("is rejected with other changes than its digest covers", () => {
    const changed = { ...buildPlan(), changes: [{ kind: "entry", key: "evil.example", after: DENY }] };
    expect(() => readPlanFile(storePlan(changed))).toThrow(/doesn't have the digest: it belongs to another review/);
  });

  it("is rejected with another stack than its digest covers", () => {
    expect(() => readPlanFile(storePlan(buildPlan({}, "globex")))).toThrow(/doesn't have the digest/);
  });

  it("is rejected with an invalid digest", () => {
    expect(() => readPlanFile(storePlan(buildPlan({ digest: "v2" })))).toThrow(/doesn't have the digest/);
  });

  it("is rejected with the digest of an earlier release", () => {
    const digest = buildPlan().digest.replace("v2", "v1");
    expect(() => readPlanFile(storePlan(buildPlan({ digest })))).toThrow(
      /was created by an earlier release, .* Nothing was changed at the tenant\. Create the plan again, and have it reviewed\.$/,
    );
  });

  it("is rejected if it doesn't exist", () => {
    expect(() => readPlanFile({ EMAIL_SECURITY_PLAN: join(directory, "none") })).toThrow(
      /^The plan in EMAIL_SECURITY_PLAN \(".*none"\) can't be read: ENOENT/,
    );
  });

  it.each(["{", "{}", '{"digest":"v2"}'])("is rejected with the content %j", (text) => {
    writeFileSync(file, text);
    expect(() => readPlanFile({ EMAIL_SECURITY_PLAN: file })).toThrow(
      /^EMAIL_SECURITY_PLAN \(".*plan\.json"\) doesn't contain a plan from `email-security plan --format json`\.$/,
    );
  });

  it("is rejected for the tenant of another service", () => {
    expect(() => readReviewedPlan(storePlan(buildPlan()), "other.example")).toThrow(
      'The plan in EMAIL_SECURITY_PLAN is for the tenant at "mail-security.example", but this run is for one at "other.example". Nothing was changed.',
    );
  });
});

describe("reviewed plan", () => {
  const changes = [
    { kind: "entry", key: "new.example", after: DENY },
    { kind: "entry", key: "old.example", before: ALLOW },
    { kind: "entry", key: "moved.example", before: ALLOW, after: DENY },
    { kind: "entry", key: "big.example", after: DENY, mayReplace: [{ key: "big.example (spam)", before: ALLOW }] },
  ];
  const describePlanDeviation = (intended: {
    key: string;
    before?: typeof ALLOW;
    after?: typeof DENY;
    kind?: string;
  }) =>
    readReviewedPlan(storePlan(buildPlan({ changes })), HOST)?.describeDeviation({
      kind: "entry",
      before: undefined,
      after: undefined,
      ...intended,
    });

  it.each([
    { key: "new.example", after: DENY },
    { key: "old.example", before: ALLOW },
    { key: "moved.example", before: ALLOW, after: DENY },
    { key: "big.example (spam)", before: ALLOW },
  ])("covers %j", (intended) => {
    expect(describePlanDeviation(intended)).toBeUndefined();
  });

  it.each([
    [{ key: "other.example", after: DENY }, 'is missing, but the review didn\'t show that it would be deny: "INC-7"'],
    [
      { key: "new.example", kind: "vip", after: DENY },
      expect.stringMatching(/^is missing, but the review didn't show/),
    ],
    [{ key: "moved.example", after: DENY }, "was allow without a comment at the review, but is now missing"],
    [{ key: "moved.example", before: ALLOW }, 'was to be deny: "INC-7" at the review, but is now declared as missing'],
  ])("doesn't cover %j", (intended, reason) => {
    expect(describePlanDeviation(intended)).toEqual(reason);
  });

  it("limits no removals unless it only removes", () => {
    expect(readReviewedPlan(storePlan(buildPlan()), HOST)).not.toHaveProperty("onlyRemoves");
  });

  it("selects its removals if it only removes", () => {
    const only = { reason: "expired" as const, removes: [{ kind: "entry", key: "old.example" }] };
    const plan = readReviewedPlan(storePlan(buildPlan({ only })), HOST);
    expect(plan?.onlyRemoves?.("entry", "old.example")).toBe(true);
    expect(plan?.onlyRemoves?.("vip", "old.example")).toBe(false);
    expect(plan?.onlyRemoves?.("entry", "new.example")).toBe(false);
  });
});

describe("enforcePlan", () => {
  const allowed = new Set(["reviewed.example"]);
  const context = {
    getReviewedPlan: () => ({
      describeDeviation: ({ key }: { key: string }) => (allowed.has(key) ? undefined : "isn't in the review"),
    }),
  } as unknown as LifecycleContext;
  const buildAddition = (key: string, after = "deny") => ({ key, before: undefined, after });

  it("accepts any change without a plan", () => {
    expect(() => enforcePlan(ENTRY_LIST_KIND, [buildAddition("evil.example")], {} as LifecycleContext)).not.toThrow();
  });

  it("accepts reviewed changes", () => {
    expect(() => enforcePlan(ENTRY_LIST_KIND, [buildAddition("reviewed.example")], context)).not.toThrow();
  });

  it("accepts changes that are already made", () => {
    const done = { key: "evil.example", before: "deny", after: "deny" };
    expect(() => enforcePlan(ENTRY_LIST_KIND, [done], context)).not.toThrow();
  });

  it("names the changes that weren't reviewed", () => {
    expect(() =>
      enforcePlan(ENTRY_LIST_KIND, [buildAddition("reviewed.example"), buildAddition("evil.example")], context),
    ).toThrow(
      [
        "The run would differ from the reviewed plan. This resource was not changed.",
        "  deny evil.example isn't in the review",
        "Create the plan again, and have it reviewed.",
      ].join("\n"),
    );
  });

  it("names a removed entry by its previous list", () => {
    const removed = { key: "evil.example", before: "allow", after: undefined };
    expect(() => enforcePlan(ENTRY_LIST_KIND, [removed], context, "Nothing was sent.")).toThrow(
      "reviewed plan. Nothing was sent.\n  allow evil.example isn't in the review",
    );
  });

  it("counts the changes beyond twenty by their danger", () => {
    const many = Array.from({ length: 22 }, (_, index) => buildAddition(`a${index}.example`, "allow"));
    expect(() => enforcePlan(ENTRY_LIST_KIND, many, context)).toThrow(/\n {2}… and 2 more, among them 2 .*allow/);
  });

  it("applies to VIPs", () => {
    expect(() => enforcePlan(VIP_LIST_KIND, [buildAddition("ceo@acme.example", "")], context)).toThrow(
      "ceo@acme.example isn't in the review",
    );
  });

  it("knows whether a plan is enforced", () => {
    expect(isPlanEnforced(context)).toBe(true);
    expect(isPlanEnforced({} as LifecycleContext)).toBe(false);
    expect(isPlanEnforced({ getReviewedPlan: () => undefined } as unknown as LifecycleContext)).toBe(false);
  });
});
