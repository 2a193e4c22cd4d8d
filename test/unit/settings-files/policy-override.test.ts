import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lintSettings } from "../../../provider/settings-files/lint";
import { OPTION_PATHS } from "../../../provider/settings-files/settings-schema";
import { createTestDirectory } from "../../support/test-directory";

const TODAY = "2026-11-21";
const DECLARED = `vips: [ceo@acme.example]
allow: [{ value: partner.example, comment: c, ticket: T-1, owner: Dana, approvedBy: Tom, expires: 2026-12-01, acceptRisk: all of it }]
deny: [{ value: a.soc.example, comment: c }, { value: b.soc.example, comment: c }]
`;

/** Returns the lint results of `tenant.yaml`, which includes `baseline.yaml`. */
function lintOverride(tenant: string, baseline: string, more: Record<string, string> = {}) {
  const files = {
    "tenant.yaml": `include: [baseline.yaml]\n${tenant}`,
    "baseline.yaml": `${baseline}\n${DECLARED}`,
    ...more,
  };
  using directory = createTestDirectory(
    Object.fromEntries(Object.entries(files).map(([file, text]) => [file, `version: 1\n${text}`])),
  );
  const { findings, settings } = lintSettings(directory.at("tenant.yaml"), { today: TODAY, ownDomains: [] });
  const overrides = findings.filter(({ code }) => ["override", "override-rejected"].includes(code));
  return {
    codes: overrides.map(({ code, level }) => `${level} ${code}`),
    messages: directory.formatMessages(overrides),
    first: findings[0]?.code,
    settings,
    findings: directory.formatFindings(findings),
  };
}

/** For each rule and option: the baseline's value, weaker values, and values that are stricter or equal. */
const CASES: Readonly<
  Record<(typeof OPTION_PATHS)[number], readonly [required: string, looser: string[], tighter: string[]]>
> = {
  onDrift: ["report", ["revert"], ["report"]],
  "policy.requireComment": ["[deny]", ["[]", "[allow]"], ["[deny]", "[allow, deny]"]],
  "policy.requireTicket": ["[allow]", ["[]", "[vips]"], ["[allow]"]],
  "policy.ticketPattern": ['"^T-"', ['".*"', '"^T-|^X"'], ['"^T-"']],
  "policy.requireOwner": ["[allow]", ["[]"], ["[allow]"]],
  "policy.requireExpiry": ["[allow]", ["[]"], ["[allow]"]],
  "policy.maxDays": ["90", ["91"], ["90", "30"]],
  "policy.requireTwoPeople": ["[allow]", ["[]"], ["[allow]"]],
  "policy.requireApproval": ["[allow]", ["[]", "[deny]"], ["[allow]", "[allow, vips]"]],
  "policy.approvers": [
    "{ Dana: dana, Tom: tomas }",
    ["{ Dana: dana, Tom: tomas, Mo: mo }", "{ Dana: mo }", "{ Tom: dana }"],
    ["{ Dana: dana, Tom: tomas }", "{ Dana: dana }", "{}"],
  ],
  "policy.reviewEvery": ["90d", ["91d", "13w"], ["89d", "12w"]],
  "policy.rejectWholeDomains": ["true", ["false"], ["true"]],
  "policy.allowFrom": ["false", ["true"], ["false"]],
  "lists.entries.mode": ["exclusive", ["additive", "exclusive-allows"], ["exclusive"]],
  "lists.entries.ignore": ["[i.example]", ["[]", '["*"]', "[i.example, j.example]"], ["[i.example]"]],
  "lists.entries.protect": ['["*.soc.example"]', ["[]", "[a.soc.example]"], ['[a.soc.example, "*.soc.example"]']],
  "lists.entries.maxRemovals": ["20", ["21", "1000000"], ["20", "0"]],
  "lists.entries.maxRemovalFraction": ["0.2", ["0.3", "1"], ["0.2", "0"]],
  "lists.entries.confirmRemovals": ["3", ["4"], ["3"]],
  "lists.entries.adopt": ["false", ["true"], ["false"]],
  "lists.vips.mode": ["exclusive", ["additive"], ["exclusive"]],
  "lists.vips.ignore": ['["x@acme.example"]', ["[]", '["*@acme.test"]'], ['["x@acme.example"]']],
  "lists.vips.protect": ['["ceo@acme.example"]', ["[]"], ['["ceo@acme.example"]']],
  "lists.vips.maxRemovals": ["5", ["6"], ["5", "1"]],
  "lists.vips.maxRemovalFraction": ["0.1", ["1"], ["0.1"]],
  "lists.vips.confirmRemovals": ["3", ["4"], ["3"]],
  "lists.vips.onDelete": ["keep", ["exclude"], ["keep"]],
};

function formatOption(path: string, value: string): string {
  const steps = path.split(".");
  return `${steps.map((step) => `{ ${step}: `).join("")}${value}${" }".repeat(steps.length)}`.slice(2, -2).trimEnd();
}

describe.each(OPTION_PATHS)("%s of an included file", (path) => {
  const [requirement, looser, tighter] = CASES[path];
  const baseline = formatOption(path, requirement);

  it("can't get a looser override unless that file allows it", () => {
    for (const value of looser) {
      const rejection = lintOverride(formatOption(path, value), baseline);
      expect([value, rejection.codes, rejection.first]).toEqual([
        value,
        ["error override-rejected"],
        "override-rejected",
      ]);
      expect(rejection.messages[0]).toContain(`add \`allowedOverrides: [${path}]\` to "baseline.yaml"`);
      const free = lintOverride(formatOption(path, value), `allowedOverrides: [${path}]\n${baseline}`);
      expect([value, free.codes, free.first]).toEqual([value, ["note override"], "override"]);
      expect(free.messages[0]).toContain("baseline.yaml allows it (`allowedOverrides`)");
    }
  });

  it("can be tightened or repeated", () => {
    for (const value of tighter)
      expect([value, lintOverride(formatOption(path, value), baseline).codes]).toEqual([value, []]);
  });

  it("can't get a looser override from another included file", () => {
    for (const value of looser) {
      for (const order of ["extra.yaml, baseline.yaml", "baseline.yaml, extra.yaml"]) {
        const { settings, codes, findings } = lintOverride("", baseline, {
          "tenant.yaml": `include: [${order}]`,
          "extra.yaml": formatOption(path, value),
        });
        const [head = "", ...rest] = path.split(".").reverse();
        const holder = rest
          .reverse()
          .reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], settings);
        const baselineValue = (holder as Record<string, unknown> | undefined)?.[head];
        // Either the stricter value applies, or the conflict is an error that a person has to resolve.
        const isTight =
          JSON.stringify(baselineValue) !== undefined && lintOption(path, baselineValue, requirement).length === 0;
        expect([order, value, isTight || findings.join().includes("error") || codes.length > 0]).toEqual([
          order,
          value,
          true,
        ]);
      }
      const over = lintOverride("", baseline, {
        "tenant.yaml": `include: [between.yaml]\n${formatOption(path, value)}`,
        "between.yaml": `include: [baseline.yaml]\nallowedOverrides: [${path}]`,
      });
      expect([value, over.codes]).toEqual([value, ["error override-rejected"]]);
    }
  });
});

/** Returns the overrides that weaken the baseline's value. */
function lintOption(path: string, value: unknown, requirement: string): string[] {
  return lintOverride(formatOption(path, JSON.stringify(value)), formatOption(path, requirement)).codes;
}

it("accepts only exclusive over exclusive-allows", () => {
  const formatMode = (value: string) => formatOption("lists.entries.mode", value);
  expect(lintOverride(formatMode("exclusive"), formatMode("exclusive-allows")).codes).toEqual([]);
  expect(lintOverride(formatMode("exclusive-allows"), formatMode("additive")).codes).toEqual([]);
  expect(lintOverride(formatMode("additive"), formatMode("exclusive-allows")).codes).toEqual([
    "error override-rejected",
  ]);
});

describe("an indirect override of an included file", () => {
  it.each([
    [
      "exclusive in allows, undone by what is ignored",
      "lists: { entries: { mode: exclusive-allows } }",
      'lists: { entries: { ignore: ["allow:*"] } }',
      "ignore",
    ],
    [
      "exclusive, undone by what is ignored",
      "lists: { entries: { mode: exclusive } }",
      'lists: { entries: { ignore: ["*.example"] } }',
      "ignore",
    ],
    [
      "a limit, undone by a number",
      "lists: { entries: { maxRemovals: 5 } }",
      "lists: { entries: { confirmRemovals: 500 } }",
      "confirmRemovals",
    ],
    [
      "a share, undone by a number",
      "lists: { entries: { maxRemovalFraction: 0.1 } }",
      "lists: { entries: { confirmRemovals: 500 } }",
      "confirmRemovals",
    ],
    [
      "a limit, undone by emptying",
      "lists: { entries: { maxRemovals: 5 } }",
      "lists: { entries: { maxRemovalFraction: 1 } }",
      "maxRemovalFraction",
    ],
  ])("is rejected unless that file allows it: %s", (_label, baseline, tenant, option) => {
    expect(lintOverride(tenant, baseline).codes).toEqual(["error override-rejected"]);
    expect(lintOverride(tenant, `allowedOverrides: [lists.entries.${option}]\n${baseline}`).codes).toEqual([
      "note override",
    ]);
    // An override in another included file is rejected, too.
    const sibling = lintOverride("", baseline, {
      "tenant.yaml": "include: [extra.yaml, baseline.yaml]",
      "extra.yaml": tenant,
    });
    expect(sibling.codes).toEqual(["error override-rejected"]);
  });

  it.each([
    ["taken out", "remove: { deny: [a.soc.example] }", ["error override-rejected"], ["note override"]],
    [
      "ended",
      "deny: [{ value: a.soc.example, comment: c, expires: 2026-11-20 }]",
      ["error override-rejected"],
      ["note override"],
    ],
    [
      "given an expiry date",
      "deny: [{ value: a.soc.example, comment: c, expires: 2026-12-01 }]",
      ["error override-rejected"],
      ["note override"],
    ],
    ["declared again", "deny: [{ value: a.soc.example, comment: other }]", [], []],
  ])("depends on protection when an entry is %s", (_label, tenant, protectedCodes, codes) => {
    const baseline = 'lists: { entries: { protect: ["*.soc.example"] } }';
    expect(lintOverride(tenant, baseline).codes).toEqual(protectedCodes);
    expect(lintOverride(tenant, `allowedOverrides: [lists.entries.protect]\n${baseline}`).codes).toEqual(codes);
    expect(lintOverride(tenant, "").codes).toEqual(codes);
  });

  it("is noted for longer allows, accepted risks and removed VIPs", () => {
    const longer = lintOverride("allow: [{ value: partner.example, comment: c, acceptRisk: all of it }]", "");
    expect(longer.messages).toEqual([
      'the allow of "partner.example" is declared without an expiry date here, but until 2026-12-01 at baseline.yaml:4',
    ]);
    expect(
      lintOverride("allow: [{ value: partner.example, comment: c, expires: 2026-11-30, acceptRisk: x }]", "").codes,
    ).toEqual([]);
    expect(lintOverride("remove: { allow: [partner.example] }", "").codes).toEqual([]);
    expect(lintOverride("remove: { vips: [ceo@acme.example] }", "").codes).toEqual(["note override"]);
    expect(
      lintOverride("remove: { vips: [ceo@acme.example] }", 'lists: { vips: { protect: ["*@acme.example"] } }').codes,
    ).toEqual(["error override-rejected"]);
    const accepted = lintOverride("deny: [{ value: a.soc.example, comment: c, acceptRisk: why }]", "");
    expect(accepted.messages).toEqual([
      'the deny of "a.soc.example" has `acceptRisk` here, but not at baseline.yaml:5',
    ]);
  });
});

it("applies the strictest of several included files in any order", () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(numbers, (days) => {
      const more = Object.fromEntries(days.map((day, index) => [`f${index}.yaml`, `policy: { maxDays: ${day} }`]));
      const { settings, codes } = lintOverride("", "", {
        "tenant.yaml": `include: [${Object.keys(more).join(", ")}]`,
        ...more,
      });
      expect([settings?.policy, codes]).toEqual([{ maxDays: Math.min(...days) }, []]);
    }),
    { numRuns: 20 },
  );
});
