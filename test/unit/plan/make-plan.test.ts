import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../provider/client";
import { readSettings } from "../../../provider/files/read-settings";
import { buildDesiredState } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { type MailEvidence, makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";

it("requests no backtest of changes when no mail was read", () => {
  const at = "2026-11-21T00:00:00.000Z";
  const text = "version: 1\nallow: [partner.example]\ndeny: [evil.example]\n";
  const settings = readSettings("x.yaml", { today: "2026-11-21", readFile: () => text });
  const planWith = (mail: MailEvidence) =>
    makePlan({
      desired: buildDesiredState(settings, undefined),
      observed: buildObservedState(at, [], []),
      tenant: { host: "host", name: "x" },
      source: { kind: "files", files: ["x.yaml"] },
      mail,
    });
  const none = buildEmptyEvidence(at, "not asked");
  const entryCounts: number[] = [];
  const runBacktest: MailEvidence["runBacktest"] = (entries) => {
    entryCounts.push(entries.length);
    return undefined;
  };
  expect(planWith({ ...none, runBacktest })).toEqual(planWith({ ...none, isEmpty: false, runBacktest }));
  expect(entryCounts).toEqual([0, 2]);
});

it("lists VIPs and removals before additions of denies", () => {
  const today = "2026-11-21";
  const text = `version: 1
vips: [ceo@acme.example]
allow: [partner.example]
deny: [a.example, b.example, c.example]
`;
  const row = { id: "1", list: "deny", entry_type: "domain", value: "z.example" } as AllowDenyEntryRow;
  const { changes } = makePlan({
    desired: buildDesiredState(readSettings("x.yaml", { today, readFile: () => text }), {
      entries: { content: { "z.example": "deny" } },
      vips: { content: {} },
    }),
    observed: buildObservedState(`${today}T00:00:00Z`, [row], []),
    tenant: { host: "host", name: "x" },
    source: { kind: "files", files: ["x.yaml"], stack: "x" },
    mail: buildEmptyEvidence(today, "not asked"),
  });
  expect(changes.map(({ sign, key }) => `${sign} ${key}`)).toEqual([
    "add partner.example",
    "remove z.example",
    "add ceo@acme.example",
    "add a.example",
    "add b.example",
    "add c.example",
  ]);
});

it("lists a new allow and a removed deny before comment changes", () => {
  const today = "2026-11-21";
  const text = `version: 1
allow:
  - zz-new.example
${Array.from({ length: 150 }, (_, at) => `  - { value: a${at}.example, comment: other }\n`).join("")}`;
  const rows = Array.from({ length: 150 }, (_, at) => `a${at}.example`).map((value) => ({
    id: value,
    list: "allow",
    entry_type: "domain",
    value,
  }));
  const gone = { id: "gone", list: "deny", entry_type: "domain", value: "zz-gone.example" };
  const { changes } = makePlan({
    desired: buildDesiredState(readSettings("x.yaml", { today, readFile: () => text }), {
      entries: { content: { "zz-gone.example": "deny" } },
      vips: { content: {} },
    }),
    observed: buildObservedState(`${today}T00:00:00Z`, [...rows, gone] as AllowDenyEntryRow[], []),
    tenant: { host: "host", name: "x" },
    source: { kind: "files", files: ["x.yaml"], stack: "x" },
    mail: buildEmptyEvidence(today, "not asked"),
  });
  expect(changes.slice(0, 2).map(({ sign, key }) => `${sign} ${key}`)).toEqual([
    "add zz-new.example",
    "remove zz-gone.example",
  ]);
  expect(changes).toHaveLength(152);
});
