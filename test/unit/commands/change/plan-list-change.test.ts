import { expect, it } from "vitest";
import { buildChangeMessage } from "../../../../provider/commands/change/change-commit-message";
import { type ChangeOptions, getMetadata } from "../../../../provider/commands/change/change-options";
import { formatDeclaration } from "../../../../provider/commands/change/declaration-index";
import { type ListChangePlan, planListChange } from "../../../../provider/commands/change/plan-list-change";
import type { ListChange } from "../../../../provider/gitops/list-change";
import { type RefangedValue, refang } from "../../../../provider/model/refang";
import {
  ELEMENT_FIELDS,
  METADATA_FIELD_NAMES,
  TEXT_FIELD_NAMES,
} from "../../../../provider/settings-files/element-fields";
import { readSettings } from "../../../../provider/settings-files/read-settings";
import { editSettings } from "../../../../provider/settings-files/settings-editor";

const FILES: Readonly<Record<string, string>> = {
  "acme.yaml": `version: 1
include: [baseline.yaml]
deny:
  # a kit
  - value: bad.example
    ticket: INC-1
    expires: 2027-01-01
  - value: old.example
    expires: 2026-01-01
  - value: two.example
    scope: graymail
  - two.example
allow:
  - value: partner.example
    comment: they pay
    owner: Dana
    approvedBy: Ruth
    expires: 2027-02-02
    reviewed: { on: 2026-11-01, by: Ruth }
vips: [ceo@acme.example]
`,
  "shop.yaml": `version: 1
allow: [a.shop.example, b.shop.example, c.shop.example, billing@shop.example]
deny: [x.shop.example, { value: y.shop.example, scope: graymail }]
`,
  "baseline.yaml": "version: 1\ndeny:\n  - base.example\n  - { value: past.example, expires: 2026-01-01 }\n",
};

const readFile = (path: string): string => FILES[path] ?? "";
const settings = readSettings("acme.yaml", { readFile, today: "2026-11-23" });

function parseValues(...texts: string[]): RefangedValue[] {
  return texts.map((text) => {
    const read = refang(text);
    if (!read.ok) throw new Error(read.reason);
    return read.value;
  });
}

function planChange(change: ListChange): ListChangePlan {
  return planListChange(settings, change, (file, section) => readFile(file).includes(`\n${section}:`));
}

/** Returns the lines added to and removed from the tenant's file. */
function diffLines({ edits }: ListChangePlan): { added: string[]; removed: string[] } {
  expect(new Set(edits.map(({ file }) => file))).toEqual(new Set(["acme.yaml"]));
  const before = readFile("acme.yaml");
  const after = editSettings(
    before,
    edits.map(({ edit }) => edit),
  );
  const [old, now] = [before.split("\n"), after.split("\n")];
  const added = now.filter((line) => !old.includes(line));
  return { added, removed: old.filter((line) => !now.includes(line)) };
}

it("adds a new value once", () => {
  const metadata = { ticket: "INC-2", expires: "2026-12-23" };
  const planned = planChange({
    action: "add",
    section: "deny",
    values: parseValues("www.bad[.]example", "www.bad.example"),
    metadata,
  });
  expect(planned.rejections).toEqual([]);
  expect(planned.steps.map(({ description, notes }) => ({ description, notes }))).toEqual([
    {
      description: "deny www.bad.example until 2026-12-23",
      notes: [
        "The deny of bad.example (acme.yaml:5, INC-1, until 2027-01-01) covers it already, presumably; the service's API reference doesn't confirm it.",
      ],
    },
  ]);
  expect(diffLines(planned)).toEqual({
    added: ["  - value: www.bad.example", "    ticket: INC-2", "    expires: 2026-12-23"],
    removed: [],
  });
});

it("notes that a domain's entry covers a mailbox", () => {
  const planned = planChange({ action: "add", section: "deny", values: parseValues("x@bad.example"), metadata: {} });
  expect(planned.steps[0]?.notes).toEqual([
    "The deny of bad.example (acme.yaml:5, INC-1, until 2027-01-01) covers it already.",
  ]);
});

it("notes the narrower entries that an added entry covers", () => {
  const shop = readSettings("shop.yaml", { readFile, today: "2026-11-23" });
  const add = { action: "add", section: "deny", values: parseValues("shop.example"), metadata: {} } as const;
  const { steps } = planListChange(shop, add, () => true);
  expect(steps[0]?.notes).toEqual([
    "Exceptions to it: the allow of a.shop.example (shop.yaml:2), the allow of b.shop.example (shop.yaml:2), the allow of billing@shop.example (shop.yaml:2), and 1 more. The service's reference doesn't say which of the two takes precedence.",
    "It covers, presumably: the deny of x.shop.example (shop.yaml:3).",
  ]);
});

it("leaves existing entries unchanged, in included files too", () => {
  const values = parseValues("bad.example", "base.example");
  const planned = planChange({ action: "add", section: "deny", values, metadata: { expires: "never" } });
  expect(planned.edits).toEqual([]);
  expect(planned.steps.map(({ isDone, isUnresolved }) => [isDone, isUnresolved])).toEqual([
    [true, true],
    [true, false],
  ]);
});

it("replaces an expired entry", () => {
  const metadata = { ticket: "INC-3", expires: "2027-03-03" };
  const planned = planChange({ action: "add", section: "deny", values: parseValues("old.example"), metadata });
  expect(diffLines(planned)).toEqual({
    added: ["    ticket: INC-3", "    expires: 2027-03-03"],
    removed: ["    expires: 2026-01-01"],
  });
});

it("replaces an expired deny with an allow", () => {
  const metadata = { expires: "2027-03-03" };
  const planned = planChange({ action: "add", section: "allow", values: parseValues("old.example"), metadata });
  expect(planned.rejections).toEqual([]);
  expect(planned.steps[0]?.notes).toEqual([
    "It replaces the deny of old.example (acme.yaml:8, until 2026-01-01), which has expired.",
  ]);
  expect(diffLines(planned)).toEqual({
    added: ["    expires: 2027-03-03"],
    removed: ["    expires: 2026-01-01"],
  });
});

it("moves an entry with its owner and expiry, dropping other metadata", () => {
  const metadata = { ticket: "INC-4" };
  const planned = planChange({ action: "move", to: "deny", values: parseValues("partner.example"), metadata });
  expect(diffLines(planned)).toEqual({
    added: ["    ticket: INC-4", "allow: []"],
    removed: ["allow:", "    comment: they pay", "    approvedBy: Ruth", "    reviewed: { on: 2026-11-01, by: Ruth }"],
  });
  expect(planned.steps[0]?.notes[1]).toBe(
    "Not moved, because it applies to the old list: comment, approvedBy, reviewed.",
  );
});

it("sets a new expiry", () => {
  const planned = planChange({
    action: "extend",
    values: parseValues("bad.example"),
    metadata: { expires: "2026-12-01" },
  });
  expect(diffLines(planned)).toEqual({
    added: ["    expires: 2026-12-01"],
    removed: ["    expires: 2027-01-01"],
  });
  expect(planned.steps[0]?.notes[1]).toBe("Its new expiry is earlier than before.");
});

it("applies other metadata when the expiry stays the same", () => {
  const values = parseValues("bad.example");
  const metadata = { expires: "2027-01-01", ticket: "INC-9" };
  const planned = planChange({ action: "extend", values, metadata });
  expect(planned.steps.map(({ isDone }) => isDone)).toEqual([false]);
  expect(buildChangeMessage({ action: "extend", values, metadata }, planned.steps).title).toBe(
    "Extend the deny of bad.example until 2027-01-01 (INC-9)",
  );
  const same = planChange({ action: "extend", values, metadata: { expires: "2027-01-01" } });
  expect(same.steps.map(({ isDone }) => isDone)).toEqual([true]);
  expect(same.edits).toEqual([]);
});

it("records a keep decision along with changed metadata", () => {
  const reviewed = { on: "2026-11-23", by: "lena@acme.example", reason: "in use" };
  const metadata = { owner: "Ruth" };
  const planned = planChange({ action: "keep", values: parseValues("partner.example"), metadata, reviewed });
  expect(planned.steps.map(({ description, isDone }) => [description, isDone])).toEqual([
    ["keep the allow of partner.example", false],
  ]);
  expect(diffLines(planned)).toEqual({
    added: ["    owner: Ruth", "    reviewed: { on: 2026-11-23, by: lena@acme.example, reason: in use }"],
    removed: ["    owner: Dana", "    reviewed: { on: 2026-11-01, by: Ruth }"],
  });
});

it("removes an entry with its comment, even an expired one", () => {
  const planned = planChange({ action: "remove", values: parseValues("bad.example", "old.example"), metadata: {} });
  expect(diffLines(planned)).toEqual({
    added: [],
    removed: [
      "  # a kit",
      "  - value: bad.example",
      "    ticket: INC-1",
      "    expires: 2027-01-01",
      "  - value: old.example",
      "    expires: 2026-01-01",
    ],
  });
});

it.each<[string, ListChange, RegExp]>([
  [
    "adding a value of the other list",
    { action: "add", section: "allow", values: parseValues("bad.example"), metadata: {} },
    /^there is a deny of bad\.example .*`email-security move bad\.example --to allow` moves it$/,
  ],
  [
    "denying an allowed value",
    { action: "add", section: "deny", values: parseValues("partner.example"), metadata: {} },
    /^there is an allow of partner\.example /,
  ],
  [
    "moving an expired entry without a new expiry date",
    { action: "move", to: "allow", values: parseValues("old.example"), metadata: {} },
    /^the deny of old\.example \(acme\.yaml:8, until 2026-01-01\) has expired, .*; set --for to its new expiry/,
  ],
  [
    "a VIP without a mailbox",
    { action: "add", section: "vips", values: parseValues("bad.example"), metadata: {} },
    /isn't a mailbox/,
  ],
  [
    "removing an entry of an included file",
    { action: "remove", values: parseValues("base.example"), metadata: {} },
    /baseline\.yaml:3.*either `email-security remove base\.example --file baseline\.yaml`, for all tenants that include it, or write `remove: \{deny: \[base\.example\]\}` in "acme\.yaml"/,
  ],
  [
    "extending an entry of an included file",
    { action: "extend", section: "deny", values: parseValues("base.example"), metadata: { expires: "2026-12-23" } },
    /baseline\.yaml:3\); either `email-security extend base\.example --list deny --for 2026-12-23 --file baseline\.yaml`, for all tenants that include it, or write `\{ value: base\.example, expires: 2026-12-23 \}` under `deny:` in "acme\.yaml", for this tenant only$/,
  ],
  [
    "removing an expired entry of an included file",
    { action: "remove", values: parseValues("past.example"), metadata: {} },
    /the deny of past\.example \(baseline\.yaml:4, until 2026-01-01\) is in an included file/,
  ],
  [
    "keeping an entry of an included file for one tenant",
    { action: "keep", values: parseValues("base.example"), metadata: {} },
    /either `email-security (?:review )?keep base\.example .*--file baseline\.yaml`, for all tenants that include it, or declare it in "acme\.yaml" too, with its own `reviewed`/,
  ],
  [
    "removing a value of several scopes",
    { action: "remove", values: parseValues("two.example"), metadata: {} },
    /is declared several times: the deny of two\.example .* and the deny of two\.example .*; select one with --scope$/,
  ],
  [
    "removing an undeclared value below a broader entry",
    { action: "remove", values: parseValues("x.bad.example"), metadata: {} },
    /^x\.bad\.example is not in these files; a broader entry is the deny of bad\.example/,
  ],
])("rejects %s", (_label, change, reason) => {
  const planned = planChange(change);
  expect(planned.rejections).toEqual([expect.stringMatching(reason)]);
  expect(planned.edits).toEqual([]);
});

it("removes the entry in the given scope", () => {
  const planned = planChange({ action: "remove", scope: "graymail", values: parseValues("two.example"), metadata: {} });
  expect(diffLines(planned)).toEqual({
    added: [],
    removed: ["  - value: two.example", "    scope: graymail"],
  });
});

it.each(TEXT_FIELD_NAMES)("takes %s from the options", (name) => {
  const options: Partial<ChangeOptions> = { [name === "expires" ? "for" : name]: "never", baseline: true };
  expect(getMetadata(options)).toEqual({ [name]: "never" });
});

it.each(METADATA_FIELD_NAMES)("names %s in the commit message", (name) => {
  const steps = ["one.example", "two.example"].map((text) => ({
    value: parseValues(text)[0] as RefangedValue,
    section: "deny" as const,
    description: `deny ${text}`,
    notes: [],
    isDone: false,
    isUnresolved: false,
  }));
  const metadata = { [name]: "2027-01-01" };
  const { title, body } = buildChangeMessage({ action: "add", section: "deny", values: [], metadata }, steps);
  expect(`${title}\n${body}`.toLowerCase()).toContain(
    name === "expires" ? "until 2027-01-01" : `${ELEMENT_FIELDS[name].label}: 2027-01-01`,
  );
});

it("describes a declaration without its approval", () => {
  const declaration = settings.entries.find(({ value }) => value === "partner.example");
  if (declaration === undefined) throw new Error("missing");
  const all = { ...declaration, ...Object.fromEntries(METADATA_FIELD_NAMES.map((name) => [name, `a ${name}`])) };
  expect(formatDeclaration(all)).toBe(
    "allow of partner.example (acme.yaml:14, a ticket, owner a owner, until a expires, “they pay”)",
  );
});
