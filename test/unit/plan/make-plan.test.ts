import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../provider/client";
import { buildDesiredState } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { type MailEvidence, makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { readSettings } from "../../../provider/settings-files/read-settings";

it("requests no backtest of changes when no mail was read", () => {
  const timestamp = "2026-11-21T00:00:00.000Z";
  const text = "version: 1\nallow: [partner.example]\ndeny: [evil.example]\n";
  const settings = readSettings("x.yaml", { today: "2026-11-21", readFile: () => text });
  const planWith = (mail: MailEvidence) =>
    makePlan({
      desired: buildDesiredState(settings, undefined),
      observed: buildObservedState(timestamp, [], []),
      tenant: { host: "host", name: "x" },
      source: { kind: "files", files: ["x.yaml"] },
      mail,
    });
  const none = buildEmptyEvidence(timestamp, "not asked");
  const entryCounts: number[] = [];
  const runBacktest: MailEvidence["runBacktest"] = (entries) => {
    entryCounts.push(entries.length);
    return undefined;
  };
  expect(planWith({ ...none, runBacktest })).toEqual(planWith({ ...none, isEmpty: false, runBacktest }));
  expect(entryCounts).toEqual([0, 2]);
});

it("lists removals before additions of denies", () => {
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
  expect(changes.map(({ operation, key }) => `${operation} ${key}`)).toEqual([
    "add partner.example",
    "remove z.example",
    "add ceo@acme.example",
    "add a.example",
    "add b.example",
    "add c.example",
  ]);
});

it("lists a new allow before comment changes", () => {
  const today = "2026-11-21";
  const text = `version: 1
allow:
  - zz-new.example
${Array.from({ length: 150 }, (_, index) => `  - { value: a${index}.example, comment: other }\n`).join("")}`;
  const rows = Array.from({ length: 150 }, (_, index) => `a${index}.example`).map((value) => ({
    id: value,
    list: "allow",
    entry_type: "domain",
    value,
  }));
  const removedRow = { id: "gone", list: "deny", entry_type: "domain", value: "zz-gone.example" };
  const { changes } = makePlan({
    desired: buildDesiredState(readSettings("x.yaml", { today, readFile: () => text }), {
      entries: { content: { "zz-gone.example": "deny" } },
      vips: { content: {} },
    }),
    observed: buildObservedState(`${today}T00:00:00Z`, [...rows, removedRow] as AllowDenyEntryRow[], []),
    tenant: { host: "host", name: "x" },
    source: { kind: "files", files: ["x.yaml"], stack: "x" },
    mail: buildEmptyEvidence(today, "not asked"),
  });
  expect(changes.slice(0, 2).map(({ operation, key }) => `${operation} ${key}`)).toEqual([
    "add zz-new.example",
    "remove zz-gone.example",
  ]);
  expect(changes).toHaveLength(152);
});

describe("entry of another type than the value implies", () => {
  const day = "2026-11-21";
  const value = "billing@evil.example";
  const buildRow = (list: string, entry_type: string, verdict_scope = "global") =>
    ({ id: `${list} ${entry_type}`, list, entry_type, value, verdict_scope }) as AllowDenyEntryRow;
  const planText = (text: string, rows: readonly AllowDenyEntryRow[]) =>
    makePlan({
      desired: buildDesiredState(readSettings("x.yaml", { today: day, readFile: () => `version: 1\n${text}` }), {
        entries: { content: {} },
        vips: { content: {} },
      }),
      observed: buildObservedState(`${day}T00:00:00Z`, rows, []),
      tenant: { host: "host", name: "x" },
      source: { kind: "files", files: ["x.yaml"], stack: "x" },
      mail: buildEmptyEvidence(day, "not asked"),
    });
  const adopting = "lists: { entries: { adopt: true } }\n";

  it.each(["", adopting])("blocks a new deny of the value that it allows (options: %j)", (options) => {
    const { blockers, changes } = planText(`${options}deny: [${value}]\n`, [buildRow("allow", "address")]);
    expect(blockers.map(({ code, message }) => [code, message])).toEqual([
      [
        "exists",
        expect.stringMatching(/^allow billing@evil\.example \(type address\) is at the tenant.*be added: remove it/),
      ],
    ]);
    expect(changes.map(({ operation }) => operation)).toEqual(["add"]);
  });

  it.each(["global", "graymail"])("contradicts a declared deny if it is an allow of %s mail", (scope) => {
    const rows = [buildRow("deny", "email_address"), buildRow("allow", "address", scope)];
    const { findings, unmanaged } = planText(`deny: [${value}]\n`, rows);
    expect(findings.map(({ code, level }) => [code, level])).toEqual([["contradicted", "warning"]]);
    expect(unmanaged.map(({ value: item, entryType }) => [item, entryType])).toEqual([[value, "address"]]);
  });

  it.each(["", adopting])("is not adopted from the same list (options: %j)", (options) => {
    const { blockers, findings, changes } = planText(`${options}deny: [${value}]\n`, [buildRow("deny", "address")]);
    expect(blockers).toEqual([]);
    expect(findings.map(({ code, message }) => [code, message])).toEqual([
      ["other-scope", expect.stringMatching(/the run fails: remove it in the console\.$/)],
    ]);
    expect(changes.map(({ operation, mayReplace }) => [operation, mayReplace])).toEqual([["add", undefined]]);
  });
});
