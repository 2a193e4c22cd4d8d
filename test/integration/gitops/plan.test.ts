import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AllowDenyEntryRow, SettingsClient } from "../../../provider/client";
import { findStaleReason } from "../../../provider/commands/apply/compare-plans";
import { detectDrift } from "../../../provider/gitops/detect-drift";
import { planFiles } from "../../../provider/gitops/plan-tenant";
import { buildDesiredState, type StackLists } from "../../../provider/plan/desired-state";
import { readMailHistory } from "../../../provider/plan/evidence";
import { buildEmptyEvidence, buildMailEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState, readObservedState } from "../../../provider/plan/observed-state";
import type { Plan, PlanChange } from "../../../provider/plan/plan";
import { readPlanFile } from "../../../provider/resources/lifecycle/reviewed-plan";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { createCli } from "../../support/cli";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";

const TODAY = "2026-11-21";
const NOTHING: StackLists = { entries: { content: {} }, vips: { content: {} } };

/** Starts a sandbox tenant without mail. Returns it with a function that plans a settings file for it. */
async function startTenant(rows: readonly object[] = [], vips: readonly string[] = []) {
  const sandbox = await startSandbox({ scenario: "empty" });
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
  const console = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-console" });
  for (const row of rows) await console.allowDenyEntries.create(row as never);
  if (vips.length > 0) await console.vipEmployees.add([...vips], "by hand");
  sandbox.clearRequests();
  return {
    sandbox,
    console,
    async plan(text: string, known?: StackLists, stack?: string): Promise<Plan> {
      using directory = createTestDirectory({ "acme.yaml": text });
      const settings = readSettings(directory.at("acme.yaml"), { today: TODAY });
      const observed = await readObservedState(client);
      return makePlan({
        desired: buildDesiredState(settings, known),
        observed,
        tenant: { host: "sandbox", name: "acme" },
        source: { kind: "files", files: ["acme.yaml"], ...(stack === undefined ? {} : { stack }) },
        mail: buildEmptyEvidence(observed.readAt, "not requested"),
      });
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await console.close();
      await sandbox.close();
    },
  };
}

const buildRow = (list: string, value: string, comment = "", more = {}) => ({
  list,
  entry_type: value.includes("@") ? "email_address" : "domain",
  value,
  ...(comment === "" ? {} : { comment }),
  ...more,
});

const summarizeChanges = ({ changes }: Plan): string[] =>
  changes.map(({ operation, before, after, key, reason }) =>
    [operation, key, before && (before.list ?? "VIP"), after && (after.list ?? "VIP"), reason]
      .filter(Boolean)
      .join(" "),
  );

describe("a plan", () => {
  it("contains only what differs from the declared state", async () => {
    await using acme = await startTenant(
      [
        buildRow("deny", "same.example", "INC-1"),
        buildRow("deny", "worded.example", "old"),
        buildRow("deny", "moved.example"),
        buildRow("deny", "mine.example", "console"),
      ],
      [],
    );
    const plan = await acme.plan(`version: 1
deny:
  - { value: SAME.example., comment: INC-1 }
  - { value: worded.example, comment: new, ticket: CHG-1, owner: Dana }
  - new.example
allow:
  - moved.example
`);
    expect(summarizeChanges(plan).sort()).toEqual([
      "add new.example deny",
      "change moved.example deny allow",
      "change worded.example deny deny",
    ]);
    expect(plan.counts).toEqual({ added: 1, changed: 2, removed: 0, unchanged: 1, unmanaged: 1 });
    expect(plan.unmanaged.map(({ key, before }) => [key, before.createdBy])).toEqual([
      ["mine.example", "Dana Reyes (console)"],
    ]);
    const worded = plan.changes.find(({ key }) => key === "worded.example");
    expect(worded).toMatchObject({
      before: { comment: "old", createdBy: "Dana Reyes (console)" },
      after: { comment: "new" },
      ticket: "CHG-1",
      owner: "Dana",
      place: { line: 4, column: 14 },
    });
    expect(acme.sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("removes what the stack no longer declares or what expired", async () => {
    await using acme = await startTenant([
      buildRow("deny", "gone.example"),
      buildRow("allow", "expired.example", "fair"),
      buildRow("deny", "console.example"),
      buildRow("deny", "stays.example"),
    ]);
    const known: StackLists = {
      entries: {
        content: {
          "gone.example": "deny",
          "expired.example": "allow: fair",
          "stays.example": "deny",
          "gone-already.example": "deny",
        },
      },
      vips: { content: {} },
    };
    const text = `version: 1
allow:
  - { value: expired.example, comment: fair, expires: 2026-11-20 }
  - { value: today.example, expires: 2026-11-21 }
deny: [stays.example]
`;
    const plan = await acme.plan(text, known);
    expect(summarizeChanges(plan).sort()).toEqual([
      "add today.example allow",
      "remove expired.example allow expired on 2026-11-20",
      "remove gone.example deny no longer declared",
    ]);
    expect(plan.expired).toMatchObject([{ key: "expired.example", isPresent: true, place: { line: 3 } }]);
    expect(plan.unmanaged.map(({ key }) => key)).toEqual(["console.example"]);
    // Without the stack's state, removals are unknown.
    expect(summarizeChanges(await acme.plan(text))).toEqual(["add today.example allow"]);
  });

  it("removes undeclared entries of an exclusive list", async () => {
    await using acme = await startTenant([buildRow("deny", "a.example"), buildRow("deny", "b.ignored.example")]);
    const plan = await acme.plan(
      `version: 1
lists:
  entries: { mode: exclusive, ignore: ["*.ignored.example"], maxRemovalFraction: 1 }
deny: []
`,
      NOTHING,
    );
    expect(summarizeChanges(plan)).toEqual(["remove a.example deny undeclared, and the list is exclusive"]);
    expect(plan.unmanaged).toEqual([]);
    expect(plan.blockers).toEqual([]);
  });

  it("names the blocker that would refuse the run", async () => {
    const values = Array.from({ length: 20 }, (_, index) => `bad-${index}.example`);
    await using acme = await startTenant([
      ...values.map((value) => buildRow("deny", value)),
      buildRow("allow", "there.example", "x"),
    ]);
    const known: StackLists = {
      entries: { content: Object.fromEntries(values.map((value) => [value, "deny"])) },
      vips: { content: {} },
    };
    const cut = await acme.plan("version: 1\ndeny: [bad-1.example]\n", known);
    expect(cut.blockers).toMatchObject([{ code: "removal-guard" }]);
    expect(cut.blockers[0]?.message).toContain("The allow/deny list would lose 19 of 20 entries (95 %)");
    expect(cut.blockers[0]?.message).toContain("In the settings file, this is under `lists: { entries: { … } }`.");
    const text = `version: 1\nallow: [{ value: there.example, comment: "y" }]\ndeny: [${values.join(", ")}]\n`;
    expect((await acme.plan(text, known)).blockers).toMatchObject([{ code: "exists" }]);
    const adopting = text.replace("version: 1\n", "version: 1\nlists: { entries: { adopt: true } }\n");
    expect((await acme.plan(adopting, known)).blockers).toEqual([]);
  });

  it("removes nothing in the first run of an exclusive list", async () => {
    await using acme = await startTenant([buildRow("deny", "a.example")], ["mei.chen@acme.example"]);
    const exists = false;
    const text = `version: 1
lists: { entries: { mode: exclusive, maxRemovalFraction: 1 }, vips: { onDelete: keep } }
deny: []
`;
    const known: StackLists = {
      entries: { content: {}, exists },
      vips: { content: { "mei.chen@acme.example": "by hand" } },
    };
    const plan = await acme.plan(text, known);
    expect(plan.changes).toEqual([]);
    expect(plan.findings.map(({ code, level }) => `${level} ${code}`)).toEqual([
      "warning pruning-deferred",
      "note vip-kept",
    ]);
  });

  it("shows every scope of a value that an exclusive list removes", async () => {
    await using acme = await startTenant([
      buildRow("deny", "twin.example"),
      buildRow("deny", "twin.example", "", { verdict_scope: "graymail" }),
    ]);
    const plan = await acme.plan(
      "version: 1\nlists: { entries: { mode: exclusive, maxRemovalFraction: 1 } }\nallow: [twin.example]\n",
      NOTHING,
    );
    expect(summarizeChanges(plan).sort()).toEqual([
      "change twin.example deny allow",
      "remove twin.example (graymail) deny undeclared, and the list is exclusive",
    ]);
  });

  it("leaves an expired entry that the stack never declared", async () => {
    await using acme = await startTenant([
      buildRow("allow", "late.example", "fair"),
      buildRow("allow", "ours.example"),
    ]);
    const text =
      "version: 1\nallow: [{ value: late.example, expires: 2026-10-31 }, { value: ours.example, expires: 2026-10-31 }, stays.example]\n";
    const known: StackLists = {
      entries: { content: { "ours.example": "allow", "stays.example": "allow" } },
      vips: { content: {} },
    };
    const plan = await acme.plan(text, known, "prod");
    expect(summarizeChanges(plan)).toContain("remove ours.example allow expired on 2026-10-31");
    expect(plan.expired.map(({ key, isPresent, isKept }) => [key, isPresent, isKept])).toEqual([
      ["late.example", true, true],
      ["ours.example", true, undefined],
    ]);
    expect(plan.findings.filter(({ code }) => code === "expired-kept")).toMatchObject([
      { level: "warning", subject: { key: "late.example" }, place: { line: 2 } },
    ]);
    using directory = createTestDirectory({ "acme.yaml": text });
    const settings = readSettings(directory.at("acme.yaml"), { today: TODAY });
    const client = new SettingsClient({ baseUrl: acme.sandbox.url, apiKey: "sandbox-acme-ci" });
    const observed = await readObservedState(client);
    await client.close();
    const listDrift = (state?: StackLists) =>
      detectDrift(settings, observed, "sandbox", state)
        .items.filter(({ driftKind }) => driftKind !== "missing")
        .map(({ driftKind, key, reason }) => [driftKind, key, reason]);
    expect(listDrift(known)).toEqual([
      [
        "added",
        "late.example",
        "expired on 2026-10-31; this stack has never declared it, so the next run doesn't remove it",
      ],
      ["pending-removal", "ours.example", "expired on 2026-10-31"],
    ]);
    const unsure = "expired on 2026-10-31; the next run removes it if the stack has declared it (see --stack)";
    expect(listDrift()).toEqual([
      ["pending-removal", "late.example", unsure],
      ["pending-removal", "ours.example", unsure],
    ]);
  });

  it("suspects another tenant's key when the tenant holds no declared entry", async () => {
    await using acme = await startTenant();
    const values = ["a", "b", "c", "d", "e"].map((name) => `${name}.example`);
    const known: StackLists = {
      entries: { content: Object.fromEntries(values.map((value) => [value, "deny"])) },
      vips: { content: {} },
    };
    const { blockers } = await acme.plan(`version: 1\ndeny: [${values.join(", ")}]\n`, known);
    expect(blockers.map(({ code }) => code)).toEqual(["other-tenant"]);
  });

  it("suspects another tenant's key when VIP mailboxes have foreign domains", async () => {
    await using acme = await startTenant();
    const listBlockerCodes = async (ownDomains: string): Promise<string[]> =>
      (await acme.plan(`version: 1\nownDomains: [${ownDomains}]\ndeny: [a.example]\n`)).blockers.map(
        ({ code }) => code,
      );
    expect(await listBlockerCodes("globex.example")).toEqual(["other-tenant"]);
    expect(await listBlockerCodes("globex.example, acme.example")).toEqual([]);
  });

  it("shows nothing of another tenant that the key belongs to", async () => {
    await using sandbox = await startSandbox();
    const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-globex-ci" });
    const [vip] = (await client.vipEmployees.list()).items;
    const row = (await client.allowDenyEntries.list({ list: "deny" })).items[0];
    using directory = createTestDirectory({
      "acme.yaml": `version: 1\nownDomains: [acme.example]\nallow: [${row?.value}]\n`,
    });
    const plan = await planFiles(directory.at("acme.yaml"), { client });
    await client.close();
    expect(plan.blockers.map(({ code }) => code)).toEqual(["other-tenant"]);
    const { blockers, ...rest } = plan;
    const json = JSON.stringify(rest);
    for (const theirs of [vip?.email, vip?.full_name, row?.value, row?.created_by]) {
      expect(theirs).toBeTruthy();
      expect(json).not.toContain(String(theirs));
    }
    expect(plan.counts).toEqual({ added: 0, changed: 0, removed: 0, unchanged: 0, unmanaged: 0 });
  });

  it("lists accepted risks first", async () => {
    await using acme = await startTenant();
    const plan = await acme.plan(`version: 1
deny: [a.example, z.example]
allow:
  - { value: gmail.com, acceptRisk: "until the fair is over" }
`);
    expect(plan.changes[0]).toMatchObject({
      key: "gmail.com",
      severity: "accepted",
      acceptedRiskReason: "until the fair is over",
    });
    expect(plan.changes[0]?.findings[0]?.message).toContain('Accepted: "until the fair is over"');
    expect(plan.changes.slice(1).map(({ severity }) => severity)).toEqual(["none", "none"]);
  });

  it("leaves undeclared entries of the other list alone", async () => {
    await using acme = await startTenant([buildRow("deny", "mine.example", "d"), buildRow("allow", "other.example")]);
    const plan = await acme.plan("version: 1\ndeny: [{ value: mine.example, comment: d }]\n");
    expect(plan.changes).toEqual([]);
    expect(plan.unmanaged.map(({ key }) => key)).toEqual(["other.example"]);
  });
});

describe("a plan digest", () => {
  const TEXT = "version: 1\ndeny: [{ value: one.example, comment: INC-1 }, two.example]\n";

  it("stays the same for an unchanged plan", async () => {
    await using acme = await startTenant([buildRow("deny", "one.example", "old")]);
    const [a, b] = [await acme.plan(TEXT, NOTHING, "prod"), await acme.plan(TEXT, NOTHING, "prod")];
    expect(b.digest).toBe(a.digest);
    expect(findStaleReason(a.digest, b)).toBeUndefined();
    // A colleague's unrelated entry doesn't make the plan stale.
    await acme.console.allowDenyEntries.create(buildRow("deny", "three.example") as never);
    expect(findStaleReason(a.digest, await acme.plan(TEXT, NOTHING, "prod"))).toBeUndefined();
  });

  it("shows which part of a stale plan changed", async () => {
    await using acme = await startTenant([buildRow("deny", "one.example", "old")]);
    const known: StackLists = { entries: { content: { "one.example": "deny: old" } }, vips: { content: {} } };
    const reviewed = await acme.plan(TEXT, known, "prod");
    const { digest } = reviewed;
    expect(findStaleReason(digest, await acme.plan(TEXT, known, "test"), reviewed)?.part).toBe("tenant");
    const others = await acme.plan(TEXT.replace("two", "three"), known, "prod");
    expect(findStaleReason(digest, others)).toMatchObject({ part: "desired", details: [] });
    expect(findStaleReason(digest, others, reviewed)?.details.join()).toContain("deny three.example");

    const [row] = acme.sandbox.allowDenyEntries("acme");
    await acme.console.allowDenyEntries.update(row?.id ?? "", { list: "allow", comment: "let it in" });
    const moved = findStaleReason(digest, await acme.plan(TEXT, known, "prod"), reviewed);
    expect(moved?.part).toBe("observed");
    expect(moved?.details).toEqual([
      '  deny one.example: was deny: "old" at the review, is allow: "let it in" now, created by Dana Reyes (console); the service doesn\'t report who changed it since',
    ]);
  });

  it("stays valid after part of the plan is applied", async () => {
    await using acme = await startTenant();
    const reviewed = await acme.plan(TEXT, NOTHING, "prod");
    await acme.console.allowDenyEntries.create(buildRow("deny", "two.example") as never);
    const now = await acme.plan(TEXT, NOTHING, "prod");
    expect(findStaleReason(reviewed.digest, now, reviewed)).toBeUndefined();
    expect(findStaleReason(reviewed.digest, now)?.part).toBe("observed");
  });

  it("is stale when a removed entry exists under another scope", async () => {
    await using acme = await startTenant([buildRow("allow", "gone.example")]);
    const known: StackLists = {
      entries: { content: { "gone.example": "allow", "one.example": "deny: INC-1" } },
      vips: { content: {} },
    };
    const reviewed = await acme.plan(TEXT, known, "prod");
    const [row] = acme.sandbox.allowDenyEntries("acme");
    await acme.console.allowDenyEntries.update(row?.id ?? "", { verdict_scope: "graymail" });
    const moved = findStaleReason(reviewed.digest, await acme.plan(TEXT, known, "prod"), reviewed);
    expect(moved?.details).toEqual([
      "  allow gone.example (graymail): is allow without a comment now, and would be removed; the review didn't show it",
    ]);
  });

  it("covers everything that a plan shows", async () => {
    await using acme = await startTenant([buildRow("deny", "gone.example", "old")]);
    const known: StackLists = {
      entries: { content: { "gone.example": "deny: old" } },
      vips: { content: {} },
    };
    const formatAcmeSettings = (more = "", rest = ""): string =>
      `version: 1\nlists: { entries: { maxRemovalFraction: 1 } }\n${rest}allow:\n  - { value: partner.example, comment: c, ticket: CHG-1, owner: Dana, approvedBy: Tom, expires: 2026-12-31${more} }\n`;
    const reviewed = await acme.plan(formatAcmeSettings(), known, "prod");
    const findStaleDetails = async (other: string): Promise<readonly string[]> => {
      const moved = findStaleReason(reviewed.digest, await acme.plan(other, known, "prod"), reviewed);
      expect(moved?.part).toBe("desired");
      return moved?.details ?? [];
    };
    const called = "  allow partner.example:";
    expect(await findStaleDetails(formatAcmeSettings().replace("2026-12-31", "never"))).toEqual([
      `${called} expires was 2026-12-31, is never`,
    ]);
    expect(await findStaleDetails(formatAcmeSettings().replace("CHG-1", "CHG-2"))).toEqual([
      `${called} ticket was CHG-1, is CHG-2`,
    ]);
    expect(await findStaleDetails(formatAcmeSettings().replace("Dana", "Mallory"))).toEqual([
      `${called} owner was Dana, is Mallory`,
    ]);
    expect(await findStaleDetails(formatAcmeSettings().replace(", approvedBy: Tom", ""))).toEqual([
      `${called} approvedBy was Tom, is not set`,
    ]);
    expect(await findStaleDetails(formatAcmeSettings(", acceptRisk: why"))).toEqual([
      `${called} acceptRisk was not set, is why`,
    ]);
    expect(await findStaleDetails(formatAcmeSettings("", "policy: { maxDays: 90 }\n"))).toEqual([
      "  policy.maxDays: was not set, is 90",
    ]);
    expect(await findStaleDetails(formatAcmeSettings("", "ownDomains: [acme.example]\n"))).toEqual([
      '  ownDomains: was [], is ["acme.example"]',
    ]);
    expect(
      await findStaleDetails(
        formatAcmeSettings().replace("maxRemovalFraction: 1", "maxRemovals: 500, maxRemovalFraction: 1"),
      ),
    ).toEqual(["  lists.entries.maxRemovals: was not set, is 500"]);
    expect(
      await findStaleDetails(`${formatAcmeSettings()}deny: [{ value: late.example, expires: 2026-10-31 }]\n`),
    ).toHaveLength(1);
    // The digest detects the change even without the plan.
    const never = await acme.plan(formatAcmeSettings().replace("2026-12-31", "never"), known, "prod");
    expect(findStaleReason(reviewed.digest, never)?.part).toBe("desired");
    // Somebody has recreated the same entry. Its removal wasn't reviewed.
    const [row] = acme.sandbox.allowDenyEntries("acme");
    await acme.console.allowDenyEntries.delete(row?.id ?? "");
    const other = new SettingsClient({ baseUrl: acme.sandbox.url, apiKey: "sandbox-acme-ci" });
    await other.allowDenyEntries.create(buildRow("deny", "gone.example", "old") as never);
    await other.close();
    const recreationReason = findStaleReason(
      reviewed.digest,
      await acme.plan(formatAcmeSettings(), known, "prod"),
      reviewed,
    );
    expect(recreationReason?.part).toBe("observed");
    expect(recreationReason?.details[0]).toMatch(
      /^ {2}deny gone\.example: was created by Dana Reyes \(console\) on .* a different one now, created by /,
    );
  });

  it("covers entries that an addition may replace", async () => {
    await using acme = await startTenant([buildRow("deny", "one.example", "old", { verdict_scope: "graymail" })]);
    const text = "version: 1\nlists: { entries: { adopt: true } }\ndeny: [{ value: one.example, comment: INC-1 }]\n";
    const reviewed = await acme.plan(text, NOTHING, "prod");
    expect(reviewed.changes[0]?.mayReplace).toMatchObject([
      { key: "one.example (graymail)", before: { list: "deny", comment: "old" } },
    ]);
    const [row] = acme.sandbox.allowDenyEntries("acme");
    await acme.console.allowDenyEntries.update(row?.id ?? "", { comment: "do not touch" });
    const now = await acme.plan(text, NOTHING, "prod");
    expect(findStaleReason(reviewed.digest, now)?.part).toBe("observed");
    expect(findStaleReason(reviewed.digest, now, reviewed)?.details).toEqual([
      '  deny one.example: may replace one.example (graymail), which is deny: "do not touch" now; it was deny: "old" at the review',
    ]);
    // An entry that is itself declared or removed can't be replaced.
    const both = `${text.replace("deny: [", "deny: [{ value: one.example, scope: graymail, comment: old }, ")}`;
    const changes = (await acme.plan(both, NOTHING, "prod")).changes;
    expect(changes.map(({ key, mayReplace }) => [key, mayReplace])).toContainEqual(["one.example", undefined]);
  });

  it("reports that it comes from an earlier release", async () => {
    await using acme = await startTenant();
    const plan = await acme.plan(TEXT, NOTHING, "prod");
    const old = plan.digest.replace(/^v2/, "v1");
    expect(findStaleReason(old, plan)).toMatchObject({
      part: "digest",
      message: expect.stringContaining("earlier release"),
    });
    using directory = createTestDirectory({ "plan.json": JSON.stringify({ ...plan, digest: old }) });
    expect(() => readPlanFile({ EMAIL_SECURITY_PLAN: directory.at("plan.json") })).toThrow(
      "was created by an earlier release",
    );
  });

  it("doesn't match a modified plan", async () => {
    await using acme = await startTenant();
    const plan = await acme.plan(TEXT, NOTHING, "prod");
    const [first] = plan.changes;
    const forged = { ...plan, changes: [{ ...first, after: { list: "allow" } } as never] };
    expect(findStaleReason(plan.digest, plan, forged)?.part).toBe("digest");
    expect(findStaleReason("v1-nonsense", plan)?.part).toBe("digest");
  });
});

describe("a plan with mail evidence", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    // The mail of the last month depends on the current hour. If a required sender is missing, generate other mail.
    for (let seed = 1; ; seed += 1) {
      sandbox = await startSandbox({ scenario: "acme", threats: 3_000, seed });
      if (seed === 20 || ["malicious", "graymail"].every((verdict) => findUnlistedSender(verdict) !== undefined)) break;
      await sandbox.close();
    }
  });
  afterAll(async () => await sandbox.close());

  /** Returns an unlisted external sender whose mail in the last month all had this verdict. */
  function findUnlistedSender(verdict: string): string | undefined {
    const since = Date.now() - 29 * 86_400_000;
    const recent = sandbox.threats("acme").filter(({ detection_time }) => Date.parse(detection_time) > since);
    const bySender = Map.groupBy(recent, ({ sender_email }) => sender_email ?? "");
    const listed = new Set(sandbox.allowDenyEntries("acme").map(({ value }) => value));
    return [...bySender].find(
      ([sender, threats]) =>
        /@(?!acme)/.test(sender) && !listed.has(sender) && threats.every((threat) => threat.verdict === verdict),
    )?.[0];
  }

  it("is refused for a danger without acceptRisk", async () => {
    const [malicious, graymail] = [findUnlistedSender("malicious"), findUnlistedSender("graymail")];
    using directory = createTestDirectory({});
    const email = createCli(directory.at("."), {
      ...runEnvironment(),
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    });
    const runPlanCommand = async (
      text: string,
    ): Promise<readonly [code: number, severities: string[], output: string]> => {
      directory.write("acme.yaml", `version: 1\n${text}`);
      const files = ["--output", "plan.json", "--output", "plan.md", "--output", "plan.html"];
      const run = await email("plan", "acme.yaml", "--fail-on", "risk", ...files);
      const { changes, blockers } = JSON.parse(readFileSync(directory.at("plan.json"), "utf8")) as Plan;
      // The reviewer's files say that the plan is refused.
      for (const file of ["plan.md", "plan.html"]) {
        const isRefused = readFileSync(directory.at(file), "utf8").includes("blocked by --fail-on risk");
        expect([file, isRefused]).toEqual([file, run.code === 3]);
      }
      expect(blockers).toEqual([]);
      return [run.code, changes.map(({ severity }) => severity), run.output];
    };
    const because = 'acceptRisk: "Their incident is over, CHG-7"';
    // A sender that the service has found malicious.
    expect(await runPlanCommand(`allow: [{ value: "${malicious}" }]`)).toMatchObject([
      3,
      ["danger"],
      expect.stringMatching(/give the reason in the\s+entry's `acceptRisk`/),
    ]);
    const [code, severities, output] = await runPlanCommand(`allow: [{ value: "${malicious}", ${because} }]`);
    expect([code, severities]).toEqual([2, ["accepted"]]);
    expect(output).toContain("RISK ACCEPTED  1 change: 1 with an accepted risk.");
    expect(output).toContain("risk       accepted: Their incident is over, CHG-7");
    // An entry that is risky by itself.
    expect((await runPlanCommand(`allow: [{ value: gmail.com, ${because} }]`)).slice(0, 2)).toEqual([2, ["accepted"]]);
    // An allow with the scope graymail only affects graymail. A global one lets it in, which is a warning but not a
    // danger.
    expect((await runPlanCommand(`allow: [{ value: "${graymail}", scope: graymail }]`)).slice(0, 2)).toEqual([
      2,
      ["none"],
    ]);
    expect((await runPlanCommand(`allow: [{ value: "${graymail}" }]`)).slice(0, 2)).toEqual([2, ["warning"]]);
    // Lint reports risks that only the mail reveals as notes, so that lint and plan don't contradict each other.
    expect((await email("lint", "acme.yaml", "--fail-on", "warning")).code).toBe(0);
    directory.write("acme.yaml", `version: 1\nallow: [{ value: "${malicious}", ${because} }]`);
    expect((await email("lint", "acme.yaml", "--fail-on", "warning")).code).toBe(0);
  });

  it("treats removing a deny as a danger without acceptRisk", async () => {
    const since = Date.now() - 29 * 86_400_000;
    const sender =
      sandbox
        .threats("acme")
        .find(
          ({ verdict, detection_time, sender_email = "" }) =>
            verdict === "malicious" && Date.parse(detection_time) > since && /@(?!acme)/.test(sender_email),
        )?.sender_email ?? "";
    const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
    const base = await readMailHistory({ client });
    const observed = buildObservedState(
      "2026-11-21T00:00:00Z",
      [{ id: "1", list: "deny", entry_type: "email_address", value: sender } as AllowDenyEntryRow],
      [],
    );
    await client.close();
    const known: StackLists = { entries: { content: { [sender]: "deny" } }, vips: { content: {} } };
    const findChangeSeverity = (text: string): Partial<PlanChange> => {
      using directory = createTestDirectory({
        "acme.yaml": `version: 1\nlists: { entries: { maxRemovals: 1, maxRemovalFraction: 1 } }\n${text}`,
      });
      const settings = readSettings(directory.at("acme.yaml"), { today: TODAY });
      const { changes } = makePlan({
        desired: buildDesiredState(settings, known),
        observed,
        tenant: { host: "sandbox", name: "acme" },
        source: { kind: "files", files: ["acme.yaml"] },
        mail: buildMailEvidence(base),
      });
      return {
        operation: changes[0]?.operation,
        severity: changes[0]?.severity,
        acceptedRiskReason: changes[0]?.acceptedRiskReason,
      } as Partial<PlanChange>;
    };
    expect(findChangeSeverity("")).toEqual({ operation: "remove", severity: "danger", acceptedRiskReason: undefined });
    expect(
      findChangeSeverity(
        `deny: [{ value: "${sender}", expires: 2026-11-20, acceptRisk: The account is theirs again }]`,
      ),
    ).toEqual({ operation: "remove", severity: "accepted", acceptedRiskReason: "The account is theirs again" });
  });

  it("lists an allow of a malicious sender first", async () => {
    const since = Date.now() - 30 * 86_400_000;
    const stopped = sandbox
      .threats("acme")
      .filter(
        ({ verdict, action_taken, detection_time }) =>
          verdict === "malicious" && /moved|quarantined$/.test(action_taken) && Date.parse(detection_time) > since,
      );
    const sender = stopped[0]?.sender_email ?? "";
    const from = stopped.filter((threat) => threat.sender_email === sender);
    using directory = createTestDirectory({
      "acme.yaml": `version: 1\ndeny: [zzz.example]\nallow: [${JSON.stringify(sender)}, aaa.example]\n`,
    });
    const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
    sandbox.clearRequests();
    const plan = await planFiles(directory.at("acme.yaml"), { client });
    await client.close();
    const [first] = plan.changes;
    expect(first).toMatchObject({ value: sender, severity: "danger" });
    expect(first?.evidence?.verdicts.find(({ name }) => name === "malicious")?.count).toBeGreaterThanOrEqual(
      from.length,
    );
    const allow = plan.backtest?.allows.find(({ key }) => key === first?.key);
    expect(allow?.deliveredCount).toBeGreaterThanOrEqual(from.length);
    expect(sandbox.requests.every(({ method }) => method === "GET")).toBe(true);
    // Once the entry exists, a plan for other changes still reports it.
    const console_ = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-console" });
    await console_.allowDenyEntries.create({ list: "allow", entry_type: "email_address", value: sender });
    await console_.close();
    const again = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
    const { findings, changes } = await planFiles(directory.at("acme.yaml"), { client: again });
    await again.close();
    expect(changes.map(({ value }) => value)).not.toContain(sender);
    expect(findings.filter(({ code }) => code === "existing-allow")).toMatchObject([
      { level: "warning", place: { line: 3 }, message: expect.stringContaining(JSON.stringify(sender)) },
    ]);
    expect(plan.evidence).toMatchObject({ days: 30, complete: true, missing: [] });
    expect(plan.evidence.threats).toBeGreaterThan(100);
  });
});
