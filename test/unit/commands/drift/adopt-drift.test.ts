import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../../provider/client";
import { type Adoption, adoptDrift } from "../../../../provider/commands/drift/adopt-drift";
import { buildAdoptionMessage } from "../../../../provider/commands/drift/adoption-commit-message";
import { renderDriftText } from "../../../../provider/commands/drift/drift-renderers";
import type { AdoptableKind } from "../../../../provider/commands/drift/plan-adoption";
import { detectDrift } from "../../../../provider/gitops/detect-drift";
import { driftSchema, formatDriftJson } from "../../../../provider/gitops/drift-schema";
import type { EncodedList } from "../../../../provider/model/encoded-list";
import { buildDesiredState } from "../../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../../provider/plan/mail-evidence";
import { makePlan } from "../../../../provider/plan/make-plan";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import { readSettings } from "../../../../provider/settings-files/read-settings";
import { HOSTILE } from "../../../support/hostile-text";
import { countSteps } from "../../../support/step-count";

const TODAY = "2026-11-21";
const AT = `${TODAY}T00:00:00.000Z`;
const ALL: readonly AdoptableKind[] = ["added", "changed", "removed"];

const buildRow = (list: string, value: string, more: Partial<AllowDenyEntryRow> = {}): AllowDenyEntryRow => ({
  id: `${list} ${value}`,
  list,
  entry_type: "domain",
  value,
  verdict_scope: "global",
  comment: undefined,
  created_by: "Pulumi (ci)",
  created_at: "2026-11-01T08:00:00Z",
  ...more,
});
const buildVip = (email: string, comment?: string): VipEmployeeRow => ({ email, comment, added_by: "ci" }) as never;

interface AdoptionSetup {
  readonly files: Readonly<Record<string, string>>;
  readonly rows?: readonly AllowDenyEntryRow[];
  readonly vips?: readonly VipEmployeeRow[];
  /** The state after the stack's last run. Default: as the files declare; undefined if no state was read. */
  readonly lastApplied?: { readonly entries?: EncodedList; readonly vips?: EncodedList } | "nothing read";
}

/** Sets up `acme/settings.yaml`, the files that it includes, and a tenant. */
function createAdoption({ files, rows = [], vips = [], lastApplied }: AdoptionSetup) {
  const top = "acme/settings.yaml";
  const observed = buildObservedState(AT, rows, vips);
  const createTextReader = (texts: Readonly<Record<string, string>>) => (path: string) => texts[path] ?? "";
  const readAdoptionSettings = (texts: Readonly<Record<string, string>>) =>
    readSettings(top, { today: TODAY, readFile: createTextReader(texts) });
  const settings = readAdoptionSettings(files);
  const encodeList = (all: readonly { readonly key: string; readonly text: string }[]): EncodedList =>
    Object.fromEntries(all.map(({ key, text }) => [key, text]));
  const known =
    lastApplied === "nothing read"
      ? undefined
      : {
          entries: { content: lastApplied?.entries ?? encodeList(settings.entries) },
          vips: { content: lastApplied?.vips ?? encodeList(settings.vips) },
        };
  const detectAdoptionDrift = (texts: Readonly<Record<string, string>> = files) =>
    detectDrift(readAdoptionSettings(texts), observed, "host", known);
  return {
    drift: detectAdoptionDrift,
    adopt: (...kinds: readonly AdoptableKind[]) =>
      adoptDrift(detectAdoptionDrift(), settings, createTextReader(files), kinds),
    after: ({ files: changed }: Adoption) => ({
      ...files,
      ...Object.fromEntries(changed.map(({ file, after }) => [file, after])),
    }),
    /** Returns the changes that a run would make after the files were edited. */
    planned: (texts: Readonly<Record<string, string>>) =>
      makePlan({
        desired: buildDesiredState(readAdoptionSettings(texts), known),
        observed,
        tenant: { host: "host", name: "acme" },
        source: { kind: "files", files: [top], stack: "acme" },
        mail: buildEmptyEvidence(AT, "not asked"),
      }).changes.map(({ operation, key }) => `${operation} ${key}`),
  };
}

const summarizeAdoption = ({ steps, unadoptedItems: unadopted }: Adoption): string[] => [
  ...steps.map(({ driftKind, items }) => `${driftKind} ${items.map(({ key }) => key).join(" + ")}`),
  ...unadopted.map(({ item, reason }) => `left ${item.key}: ${reason}`),
];

describe("adopting changed entries", () => {
  const SETTINGS = `version: 1
deny:
  # the first
  - value: bad.example # INC-7
    comment: before
    ticket: INC-7
    owner: lena@acme.example
    approvedBy: tomas@acme.example
    expires: 2027-01-31
    reviewed: { on: 2026-11-01, by: lena@acme.example }
  - value: plain.example
    comment: gone there
  - short.example   # as it was
`;

  it("drops the approval of a changed entry", () => {
    const acme = createAdoption({
      files: { "acme/settings.yaml": SETTINGS },
      rows: [
        buildRow("deny", "bad.example", { comment: "after: it" }),
        buildRow("deny", "plain.example"),
        buildRow("deny", "short.example", { comment: "now with one" }),
      ],
    });
    const adoption = acme.adopt("changed");
    expect(summarizeAdoption(adoption)).toEqual([
      "changed bad.example",
      "changed plain.example",
      "changed short.example",
    ]);
    expect(adoption.steps.map(({ lossNote }) => lossNote)).toEqual([
      "approvedBy, reviewed are left out, because they applied to the previous state",
      undefined,
      undefined,
    ]);
    const after = acme.after(adoption);
    expect(after["acme/settings.yaml"]).toBe(`version: 1
deny:
  # the first
  - value: bad.example # INC-7
    comment: "after: it"
    ticket: INC-7
    owner: lena@acme.example
    expires: 2027-01-31
  - value: plain.example
  - value: short.example   # as it was
    comment: now with one
`);
    expect(acme.drift(after).items).toEqual([]);
    expect(acme.planned(after)).toEqual([]);
  });

  it("moves an entry to the other list without its ticket, approval and review", () => {
    const acme = createAdoption({
      files: { "acme/settings.yaml": `${SETTINGS}allow: [fine.example]\n` },
      rows: [
        buildRow("allow", "bad.example", { comment: "ours now" }),
        buildRow("deny", "plain.example", { comment: "gone there" }),
        buildRow("deny", "short.example"),
        buildRow("deny", "fine.example"),
      ],
    });
    const adoption = acme.adopt("changed");
    expect(adoption.steps[0]?.lossNote).toBe(
      "ticket, approvedBy, reviewed are left out, because they applied to the previous state",
    );
    const after = acme.after(adoption);
    expect(after["acme/settings.yaml"]).toContain("allow: [{ value: bad.example, comment: ours now, owner");
    expect(after["acme/settings.yaml"]).not.toMatch(/INC-7|approvedBy|reviewed/);
    expect(acme.drift(after).items).toEqual([]);
    expect(acme.planned(after)).toEqual([]);
  });

  it("reports policy violations of adopted entries only", () => {
    const acme = createAdoption({
      files: {
        "acme/settings.yaml":
          "version: 1\npolicy: { requireTicket: [deny], requireTwoPeople: [allow] }\nallow: [{ value: a.example, owner: lena, approvedBy: tomas }]\ndeny: [without.example]\n",
      },
      rows: [
        buildRow("allow", "a.example", { comment: "mine" }),
        buildRow("deny", "new.example"),
        buildRow("deny", "without.example"),
      ],
    });
    const { findings } = acme.adopt(...ALL);
    expect(findings.map(({ code, subject }) => [code, subject?.key])).toEqual([
      ["policy-two-people", "a.example"],
      ["policy-ticket", "new.example"],
    ]);
  });

  it("doesn't move an entry to a list where it is refused as risky", () => {
    const acme = createAdoption({
      files: {
        "acme/settings.yaml": 'version: 1\ndeny: [{ value: gmail.com, acceptRisk: "meant" }, b.example]\n',
      },
      rows: [buildRow("allow", "gmail.com"), buildRow("deny", "b.example")],
    });
    expect(summarizeAdoption(acme.adopt("changed"))).toEqual([
      "left gmail.com: it allows a whole free-mail domain (allow-free-mail); if it is intended, declare it yourself, with the reason in `acceptRisk`",
    ]);
  });

  it("treats an entry in another scope as a scope change", () => {
    const acme = createAdoption({
      files: {
        "acme/settings.yaml":
          "version: 1\nallow:\n  - { value: news.example, owner: lena, approvedBy: tomas }\n  - { value: x.example, scope: graymail }\n",
      },
      rows: [
        buildRow("allow", "news.example", { verdict_scope: "graymail", comment: "only that" }),
        buildRow("allow", "x.example"),
      ],
    });
    const adoption = acme.adopt("changed");
    expect(summarizeAdoption(adoption)).toEqual([
      "changed news.example + news.example (graymail)",
      "changed x.example (graymail) + x.example",
    ]);
    const after = acme.after(adoption);
    expect(after["acme/settings.yaml"]).toBe(
      "version: 1\nallow:\n  - { value: news.example, comment: only that, owner: lena, scope: graymail }\n  - { value: x.example }\n",
    );
    expect(acme.drift(after).items).toEqual([]);
    // Unless changes may be adopted too, no value is declared in both scopes, since a service may only hold one.
    expect(summarizeAdoption(acme.adopt("added"))).toEqual([
      expect.stringContaining("left news.example (graymail): it is declared in another scope"),
      expect.stringContaining("left x.example: it is declared in another scope"),
    ]);
    expect(summarizeAdoption(acme.adopt("added", "removed"))).toHaveLength(4);
  });

  it("overrides an included file's entry for the tenant alone", () => {
    const BASELINE =
      "version: 1\ndeny:\n  - { value: bulk.example, comment: ours, ticket: INC-1, expires: 2027-01-01 }\n  - moved.example\n";
    const acme = createAdoption({
      files: { "acme/settings.yaml": "version: 1\ninclude: [../baseline.yaml]\n", "baseline.yaml": BASELINE },
      rows: [buildRow("deny", "bulk.example", { comment: "theirs" }), buildRow("allow", "moved.example")],
    });
    const adoption = acme.adopt(...ALL);
    const after = acme.after(adoption);
    expect(after["baseline.yaml"]).toBe(BASELINE);
    expect(after["acme/settings.yaml"]).toContain(
      "deny:\n  # as at the tenant; the included file declares it differently\n  - value: bulk.example\n    comment: theirs\n    ticket: INC-1\n    expires: 2027-01-01\n",
    );
    expect(summarizeAdoption(adoption)).toEqual([
      "changed bulk.example",
      'left moved.example: it is in an included file (baseline.yaml:4); either change it there, for all tenants that include it, or write `remove: {deny: [moved.example]}` and `allow: [moved.example]` in "acme/settings.yaml", for this tenant only',
    ]);
    expect(acme.drift(after).items.map(({ key }) => key)).toEqual(["moved.example"]);
    expect(acme.planned(after)).toEqual(["change moved.example"]);
  });

  it("suggests no change to a generated file", () => {
    const acme = createAdoption({
      files: {
        "acme/settings.yaml": "version: 1\ninclude: [sources/phish.yaml]\n",
        "acme/sources/phish.yaml":
          "version: 1\nsource: { name: phish, kind: csv, synced: 2026-11-20 }\ndeny: [old.example, moved.example, { value: past.example, expires: 2026-11-20 }]\n",
      },
      rows: [buildRow("allow", "moved.example"), buildRow("deny", "past.example")],
    });
    const overwritten =
      "is from the source phish (acme/sources/phish.yaml:3), and `email-security sync` would overwrite a change there";
    const ending = 'in "acme/settings.yaml", for this tenant only';
    expect(summarizeAdoption(acme.adopt(...ALL))).toEqual([
      `left past.example: its declaration, which expired on 2026-11-20, ${overwritten}; declare it ${ending}`,
      `left moved.example: it ${overwritten}; write \`remove: {deny: [moved.example]}\` and \`allow: [moved.example]\` ${ending}`,
      `left old.example: it ${overwritten}; write \`remove: {deny: [old.example]}\` ${ending}`,
    ]);
    const text = "version: 1\ninclude: [sources/phish.yaml]\ndeny: [past.example]\n";
    const declared = { ...acme.after(acme.adopt()), "acme/settings.yaml": text };
    expect(acme.drift(declared).items.map(({ key }) => key)).not.toContain("past.example");
  });

  it("takes a VIP's comment", () => {
    const acme = createAdoption({
      files: { "acme/settings.yaml": "version: 1\nvips:\n  - { email: ceo@acme.example, comment: Chief }\n" },
      vips: [buildVip("CEO@acme.example", "Chair")],
    });
    const after = acme.after(acme.adopt("changed"));
    expect(after["acme/settings.yaml"]).toBe("version: 1\nvips:\n  - { email: ceo@acme.example, comment: Chair }\n");
    expect(acme.drift(after).items).toEqual([]);
  });
});

describe("adopting removed entries", () => {
  const formatDomains = (count: number): string =>
    Array.from({ length: count }, (_, index) => `  - n${index}.example # ${index}\n`).join("");
  const buildRows = (from: number, end: number) =>
    Array.from({ length: end - from }, (_, index) => buildRow("deny", `n${from + index}.example`));

  it("removes entries together with their comments", () => {
    const acme = createAdoption({
      files: {
        "acme/settings.yaml": `version: 1\nvips: [ceo@acme.example, cfo@acme.example]\ndeny:\n${formatDomains(4)}  # why\n  - gone.example\n`,
      },
      rows: buildRows(0, 4),
      vips: [buildVip("ceo@acme.example")],
    });
    const adoption = acme.adopt("removed");
    expect(summarizeAdoption(adoption)).toEqual(["removed gone.example", "removed cfo@acme.example"]);
    const after = acme.after(adoption);
    expect(after["acme/settings.yaml"]).toBe(`version: 1\nvips: [ceo@acme.example]\ndeny:\n${formatDomains(4)}`);
    expect(acme.drift(after).items).toEqual([]);
    expect(acme.planned(after)).toEqual([]);
    expect(buildAdoptionMessage(adoption.steps)).toEqual({
      title: "Adopt from the tenant: 2 removed",
      body: "- removed deny gone.example\n- removed VIP cfo@acme.example",
      branch: "adopt-gone.example-and-1-more",
    });
  });

  it("keeps entries that are protected, included or never applied", () => {
    const files = {
      "acme/settings.yaml":
        "version: 1\ninclude: [../baseline.yaml]\nlists: { entries: { protect: [safe.example] } }\ndeny: [kept.example, new.example, safe.example, both.example, over.example]\n",
      "baseline.yaml": "version: 1\ndeny: [bulk.example, { value: over.example, comment: b }]\n",
    };
    const applied = {
      "kept.example": "deny",
      "safe.example": "deny",
      "both.example": "allow",
      "bulk.example": "deny",
      "over.example": "deny",
    };
    const acme = createAdoption({ files, rows: [buildRow("deny", "kept.example")], lastApplied: { entries: applied } });
    const adoption = acme.adopt(...ALL);
    expect(adoption.files).toEqual([]);
    expect(summarizeAdoption(adoption)).toEqual([
      "left both.example: both the files and the tenant have changed it since the stack's last run; decide by hand which of the two to keep",
      'left bulk.example: it is in an included file (baseline.yaml:2); either change it there, for all tenants that include it, or write `remove: {deny: [bulk.example]}` in "acme/settings.yaml", for this tenant only',
      "left new.example: the stack's state doesn't contain it: no run has applied it yet, or a refresh found it removed; to remove it from the files, run `email-security remove new.example`",
      expect.stringContaining("left over.example: it is in an included file (baseline.yaml:2)"),
      'left safe.example: it is protected (`protect`: "safe.example"), so it must be declared',
    ]);
    const unread = createAdoption({ files, rows: [buildRow("deny", "kept.example")], lastApplied: "nothing read" });
    expect(unread.adopt(...ALL).steps).toEqual([]);
    expect(unread.adopt(...ALL).unadoptedItems).toHaveLength(5);
  });

  it("refuses mass removal unless the file confirms it", () => {
    const formatFiles = (options: string) => ({
      "acme/settings.yaml": `version: 1\n${options}deny:\n${formatDomains(30)}`,
    });
    const many = createAdoption({ files: formatFiles(""), rows: buildRows(0, 18) }).adopt("removed");
    expect(many.steps).toEqual([]);
    expect(many.unadoptedItems).toHaveLength(12);
    expect(many.unadoptedItems[0]?.reason).toMatch(
      /^if all missing ones were removed, the files would lose 12 of 30 entries \(40 %\)\. .*; if that is intended, write `confirmRemovals: 12` under `lists: \{entries: …\}`, and remove it afterwards$/,
    );
    const adoption = createAdoption({
      files: formatFiles("lists: { entries: { confirmRemovals: 12 } }\n"),
      rows: buildRows(0, 18),
    }).adopt("removed");
    expect(adoption.steps).toHaveLength(12);
    expect(() =>
      createAdoption({ files: formatFiles(""), rows: [buildRow("deny", "theirs.example")] }).adopt(...ALL),
    ).toThrow("a different tenant than intended");
  });
});

describe("the stack's last applied state", () => {
  const files = {
    "acme/settings.yaml": "version: 1\ndeny: [{ value: bad.example, comment: now }, b.example]\n",
  };
  const there = [buildRow("deny", "bad.example", { comment: "before" }), buildRow("deny", "b.example")];

  it.each([
    ["the tenant moved", "deny: now", "changed at the tenant since the stack's last run", 1],
    ["the files moved", "deny: before", "the files changed its declaration since the stack's last run", 0],
    ["both moved", "deny: once", "changed at the tenant since the stack's last run", 0],
    ["it was never the stack's", "(unmanaged) deny: before", "this stack has never declared it", 0],
  ])("decides what is adopted where %s", (_case, text, expectedLine, adopted) => {
    const acme = createAdoption({
      files,
      rows: there,
      lastApplied: { entries: { "bad.example": text, "b.example": "deny" } },
    });
    expect(renderDriftText(acme.drift(), 200)).toContain(`      reason    ${expectedLine}`);
    expect(renderDriftText(acme.drift(), 200)).not.toContain("report later changes");
    expect(driftSchema.parse(JSON.parse(formatDriftJson(acme.drift())))).toEqual(acme.drift());
    const adoption = acme.adopt("changed");
    expect([adoption.steps.length, adoption.unadoptedItems.length]).toEqual([adopted, 1 - adopted]);
  });
});

it("leaves the cause of drift open without the stack's state", () => {
  const acme = createAdoption({
    files: { "acme/settings.yaml": "version: 1\ndeny: [{ value: bad.example, comment: now }]\n" },
    rows: [buildRow("deny", "bad.example", { comment: "before" })],
    lastApplied: "nothing read",
  });
  expect(renderDriftText(acme.drift(), 200)).toContain(
    "created   by Pulumi (ci) on 2026-11-01T08:00:00Z; the service doesn't report later changes",
  );
});

describe("hostile text", () => {
  it.each(Object.entries(HOSTILE))("is adopted as plain text or skipped: %s", (_label, text) => {
    const comment = text.toWellFormed();
    const acme = createAdoption({
      files: { "acme/settings.yaml": "version: 1\ndeny: [bad.example, b.example]\n" },
      rows: [buildRow("deny", "bad.example", { comment, created_by: text }), buildRow("deny", "b.example")],
    });
    const adoption = acme.adopt(...ALL);
    expect(adoption.steps.length + adoption.unadoptedItems.length).toBe(1);
    const after = acme.after(adoption);
    expect(acme.drift(after).items).toHaveLength(adoption.unadoptedItems.length);
    const { title, body } = buildAdoptionMessage(adoption.steps);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may come through.
    const harm = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|^::|##vso/m;
    for (const output of [after["acme/settings.yaml"], title, body, renderDriftText(acme.drift())]) {
      expect(output).not.toMatch(harm);
    }
  });
});

it("adopts drift in linear time", () => {
  const measureSteps = (scale: number): number => {
    const listHosts = (name: string): string[] =>
      Array.from({ length: 100 * scale }, (_, index) => `${name}-${index}.example`);
    const [kept, removedLines] = [listHosts("kept"), listHosts("gone")];
    const lines = [...kept, ...removedLines].map((host) => `  - value: ${host}\n    comment: before\n`).join("");
    const options = `lists: { entries: { confirmRemovals: ${removedLines.length}, protect: [protected.example] } }\n`;
    const acme = createAdoption({
      files: { "acme/settings.yaml": `version: 1\n${options}allow: [protected.example]\ndeny:\n${lines}` },
      rows: [
        buildRow("allow", "protected.example"),
        ...kept.map((host) => buildRow("deny", host, { comment: "after" })),
        ...listHosts("added").map((host) => buildRow("deny", host)),
      ],
    });
    let adopted = 0;
    const steps = countSteps(() => {
      adopted = acme.adopt(...ALL).steps.length;
    });
    expect(adopted).toBe(300 * scale);
    return steps;
  };
  // A full scan for each element would take 16 times the steps.
  expect(measureSteps(4) / measureSteps(1)).toBeLessThan(5);
});
