import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { adoptDrift } from "../../../provider/commands/drift/adopt-drift";
import { buildAdoptionMessage } from "../../../provider/commands/drift/adoption-commit-message";
import { renderDriftMarkdown, renderDriftText } from "../../../provider/commands/drift/drift-renderers";
import { buildRevertCommands } from "../../../provider/commands/drift/revert-commands";
import { buildPulumiImportFile } from "../../../provider/commands/export/pulumi-import-file";
import { suggest } from "../../../provider/commands/suggest/suggest";
import { detectDrift } from "../../../provider/gitops/detect-drift";
import type { Drift } from "../../../provider/gitops/drift-schema";
import { exportSettings } from "../../../provider/gitops/export-settings";
import { buildDesiredState, type StackList } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { HOSTILE } from "../../support/hostile-text";

const TOP = `version: 1
include: [deny.yaml, ../baseline.yaml]
ownDomains: [acme.example] # ours
vips: [ceo@acme.example]
`;
const DENY = `version: 1
deny:
  # kept as it is
  - bad.example   # INC-7
  - value: worse.example
`;
const FILES: Record<string, string> = {
  "acme/settings.yaml": TOP,
  "acme/deny.yaml": DENY,
  "baseline.yaml": "version: 1\nallow: [partner.example]\n",
};
const readFile = (path: string): string => FILES[path] ?? "";

const NO_MAIL = { days: 30, threats: 0, reports: 0, until: "", complete: false, missing: [] };

let count = 0;
function buildRow(list: string, value: string, comment?: string): AllowDenyEntryRow {
  count += 1;
  const entry_type = value.includes("@") ? "email_address" : "domain";
  const creation = { created_by: "Dana", created_at: "2026-11-20T10:00:00Z" };
  return { id: `id-${count}`, list, entry_type, value, verdict_scope: "global", comment, ...creation };
}
function buildVip(email: string, more: Partial<VipEmployeeRow> = {}): VipEmployeeRow {
  const { full_name, job_title, department, comment, added_by, date_added, updated_at, source } = more;
  return { email, full_name, job_title, department, comment, added_by, date_added, updated_at, source };
}

const readDriftSettings = () => readSettings("acme/settings.yaml", { today: "2026-11-21", readFile });
const detectTestDrift = (rows: readonly AllowDenyEntryRow[], vips: readonly VipEmployeeRow[]): Drift =>
  detectDrift(readDriftSettings(), buildObservedState("2026-11-21T00:00:00.000Z", rows, vips), "host");

const asDeclared = [
  buildRow("deny", "bad.example"),
  buildRow("deny", "worse.example"),
  buildRow("allow", "partner.example"),
];

describe("drift", () => {
  it("is empty for a tenant as declared, ignoring auto-detected VIPs", () => {
    expect(
      detectTestDrift(asDeclared, [buildVip("ceo@acme.example"), buildVip("cfo@acme.example", { source: "auto" })])
        .items,
    ).toEqual([]);
  });

  it.each(["", "  ", "\u200b"])("omits the author when the service returns %j", (nothing) => {
    const nobody = { ...buildRow("deny", "clicked.example"), created_by: nothing, created_at: nothing };
    const [item] = detectTestDrift([...asDeclared, nobody], [buildVip("ceo@acme.example")]).items;
    expect(item?.actual).toEqual({ list: "deny" });
  });

  it("lists added, changed and missing entries with author and time", () => {
    const { items } = detectTestDrift(
      [
        buildRow("allow", "bad.example"),
        buildRow("deny", "clicked.example", "c"),
        buildRow("allow", "partner.example", "now with a comment"),
      ],
      [buildVip("ceo@acme.example"), buildVip("pay@acme.example", { added_by: "Tomas", date_added: "2026-11-19" })],
    );
    expect(items.map(({ driftKind, key, actual, declared }) => [driftKind, key, actual, declared])).toEqual([
      [
        "added",
        "clicked.example",
        { list: "deny", comment: "c", createdBy: "Dana", createdAt: "2026-11-20T10:00:00Z" },
        undefined,
      ],
      ["added", "pay@acme.example", { createdBy: "Tomas", createdAt: "2026-11-19" }, undefined],
      [
        "changed",
        "bad.example",
        { list: "allow", createdBy: "Dana", createdAt: "2026-11-20T10:00:00Z" },
        { list: "deny" },
      ],
      ["changed", "partner.example", expect.objectContaining({ comment: "now with a comment" }), { list: "allow" }],
      ["missing", "worse.example", undefined, { list: "deny" }],
    ]);
  });
});

describe("wrong tenant", () => {
  const OTHER = "ERR_OTHER_TENANT";
  const captureCode = (work: () => unknown): unknown => {
    try {
      work();
      return undefined;
    } catch (error) {
      return (error as { code?: string }).code;
    }
  };

  it("is detected by VIP mailboxes outside the files' own domains", () => {
    expect(captureCode(() => detectTestDrift(asDeclared, [buildVip("ceo@globex.example")]))).toBe(OTHER);
    expect(
      captureCode(() => detectTestDrift([], [buildVip("ceo@globex.example"), buildVip("ceo@mail.acme.example")])),
    ).toBe(undefined);
  });

  it("is refused by every command that writes files", () => {
    const theirs = buildObservedState("2026-11-21T00:00:00.000Z", [], [buildVip("ceo@globex.example")]);
    const ownDomains = ["acme.example"];
    expect(captureCode(() => exportSettings(theirs, { host: "host", ownDomains }))).toBe(OTHER);
    expect(captureCode(() => buildPulumiImportFile(theirs, { ownDomains }))).toBe(OTHER);
    const base = { summary: NO_MAIL, threats: undefined, reports: undefined, vips: new Set<string>() };
    expect(captureCode(() => suggest(readDriftSettings(), theirs, base))).toBe(OTHER);
  });

  it("suggests own domains from the VIPs when an export has none", () => {
    const theirs = buildObservedState("2026-11-21T00:00:00.000Z", [], [buildVip("ceo@globex.example")]);
    const otherExport = exportSettings(theirs, { host: "host" });
    expect(otherExport.files.get("settings.yaml")).toMatch(
      /^# The domains of its VIPs.*\n(?:#.*\n)+ownDomains:\n {2}- globex\.example\n/m,
    );
    expect(otherExport.likelyOwnDomains).toEqual(["globex.example"]);
    const named = exportSettings(theirs, { host: "host", ownDomains: ["globex.example", "g.example"] });
    expect(named.files.get("settings.yaml")).toContain("\n\nownDomains:\n  - globex.example\n  - g.example\n");
    expect(
      exportSettings(buildObservedState("2026-11-21T00:00:00.000Z", [], []), { host: "host" }).files.get(
        "settings.yaml",
      ),
    ).not.toContain("ownDomains");
  });

  it("produces a warning on a first run without own domains", () => {
    const describeDrift = (
      text: string,
      known: Partial<StackList>,
      others: { ownDomains?: string[]; fingerprints?: string[] } = {},
    ) => {
      const declared = readSettings("x.yaml", { today: "2026-11-21", readFile: () => text });
      const observed = buildObservedState("2026-11-21T00:00:00.000Z", [], [buildVip("ceo@globex.example")]);
      const list = { content: {}, exists: false, ...known };
      const { findings } = makePlan({
        desired: buildDesiredState(declared, { entries: list, vips: list }),
        observed,
        tenant: { host: "host", name: "x" },
        source: { kind: "files", files: ["x.yaml"], stack: "x" },
        mail: buildEmptyEvidence(observed.readAt, "not requested"),
        ...others,
      });
      return findings.filter(({ code }) => code === "own-domains-missing").map(({ message }) => message);
    };
    const bare = "version: 1\ndeny: [evil.example]\n";
    expect(describeDrift(bare, {})).toEqual([
      expect.stringContaining('Its VIPs have mailboxes in "globex.example"; check whether these are your own people.'),
    ]);
    expect(describeDrift(`${bare}ownDomains: [globex.example]\n`, {})).toEqual([]);
    expect(describeDrift(bare, {}, { ownDomains: ["globex.example"] })).toEqual([]);
    expect(describeDrift(bare, {}, { fingerprints: ["abcdefg"] })).toEqual([]);
    expect(describeDrift(bare, { exists: true })).toEqual([]);
  });

  it("is not adopted from when no declared entry exists there", () => {
    const theirs = [buildRow("deny", "theirs.example")];
    const text = `version: 1\ndeny: [${["a", "b", "c", "d", "e"].map((item) => `${item}.example`).join(", ")}]\n`;
    const declared = readSettings("x.yaml", { today: "2026-11-21", readFile: () => text });
    const detectDeclaredDrift = (rows: readonly AllowDenyEntryRow[]) =>
      detectDrift(declared, buildObservedState("2026-11-21T00:00:00.000Z", rows, []), "host");
    expect(captureCode(() => adoptDrift(detectDeclaredDrift(theirs), declared, () => text))).toBe(OTHER);
    expect(
      adoptDrift(detectDeclaredDrift([...theirs, buildRow("deny", "c.example")]), declared, () => text).steps,
    ).toHaveLength(1);
  });
});

describe("adopting drift", () => {
  it("adds to the tenant's own file instead of the shared baseline", () => {
    const report = detectTestDrift(
      [...asDeclared, buildRow("deny", "clicked.example", "saw: it"), buildRow("allow", "new.example")],
      [buildVip("ceo@acme.example"), buildVip("pay@acme.example", { added_by: "Tomas" })],
    );
    const { files, unadoptedItems: unadopted } = adoptDrift(report, readDriftSettings(), readFile);
    expect(unadopted).toEqual([]);
    expect(files.map(({ file }) => file).sort()).toEqual(["acme/deny.yaml", "acme/settings.yaml"]);
    const denied = files.find(({ file }) => file === "acme/deny.yaml")?.after ?? "";
    for (const line of DENY.trimEnd().split("\n")) expect(denied.split("\n")).toContain(line);
    expect(denied).toContain("added at the tenant by Dana on 2026-11-20");
    const top = files.find(({ file }) => file === "acme/settings.yaml")?.after ?? "";
    expect(top).toContain("ownDomains: [acme.example] # ours");
    const after = new Map(files.map((file) => [file.file, file.after]));
    const again = readSettings("acme/settings.yaml", {
      today: "2026-11-21",
      readFile: (path) => after.get(path) ?? readFile(path),
    });
    const observed = buildObservedState(
      "2026-11-21T00:00:00.000Z",
      [...asDeclared, buildRow("deny", "clicked.example", "saw: it"), buildRow("allow", "new.example")],
      [buildVip("ceo@acme.example"), buildVip("pay@acme.example", { added_by: "Tomas" })],
    );
    expect(detectDrift(again, observed, "host").items).toEqual([]);
  });

  it("skips entries whose declaration has expired", () => {
    const files = { ...FILES, "acme/deny.yaml": `${DENY}  - { value: past.example, expires: 2026-11-20 }\n` };
    const readText = (path: string): string => files[path as keyof typeof files] ?? "";
    const late = readSettings("acme/settings.yaml", { today: "2026-11-21", readFile: readText });
    const rows = [...asDeclared, buildRow("allow", "past.example"), buildRow("deny", "other.example")];
    const report = detectDrift(
      late,
      buildObservedState("2026-11-21T00:00:00.000Z", rows, [buildVip("ceo@acme.example")]),
      "host",
    );
    const { steps, unadoptedItems: unadopted } = adoptDrift(report, late, readText);
    expect(steps.map(({ items }) => items[0]?.key)).toEqual(["other.example"]);
    expect(unadopted.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("its declaration at acme/deny.yaml:6 expired on 2026-11-20"),
    ]);
  });

  it("skips risky entries", () => {
    const report = detectTestDrift(
      [
        ...asDeclared,
        buildRow("allow", "gmail.com"),
        buildRow("allow", "acme-login.example"),
        buildRow("allow", "ok.example"),
      ],
      [buildVip("ceo@acme.example")],
    );
    const { steps, unadoptedItems: unadopted } = adoptDrift(report, readDriftSettings(), readFile);
    expect(steps.map(({ items }) => items[0]?.key)).toEqual(["ok.example"]);
    expect(unadopted.map(({ item, reason }) => `${item.key}: ${reason}`)).toEqual([
      expect.stringContaining("acme-login.example: it allows a look-alike of your own domain (allow-look-alike)"),
      expect.stringContaining("gmail.com: it allows a whole free-mail domain (allow-free-mail)"),
    ]);
  });

  it.each(["allow", "deny"])("shows dangerous drift in Markdown among 3,000 additions to %s", (list) => {
    const long = "c".repeat(300);
    const report = detectTestDrift(
      [
        buildRow("allow", "bad.example"),
        buildRow("allow", "partner.example"),
        ...Array.from({ length: 3_000 }, (_, index) => buildRow(list, `added-${index}.example`, long)),
        buildRow("allow", "zz-attacker.example"),
      ],
      [],
    );
    const markdown = renderDriftMarkdown(report);
    expect(Buffer.byteLength(markdown)).toBeLessThan(61_000);
    expect(markdown).toContain("- `allow bad.example`");
    expect(markdown).toContain("- `deny worse.example`");
    expect(markdown).toContain("- `VIP ceo@acme.example`");
    if (list === "deny") expect(markdown).toContain("- `allow zz-attacker.example`");
    expect(markdown).toMatch(
      list === "deny"
        ? /more, none of them a new allow, a removed deny or a removed VIP; `email-security drift` shows all/
        : /… and 2,\d+ more, among them 2,\d+ new allows; `email-security drift` shows all of them/,
    );
    expect(markdown.indexOf("### Changed")).toBeLessThan(markdown.indexOf("### Added"));
  });

  it("lists dangerous changes first in a long commit message", () => {
    const report = detectTestDrift(
      [
        ...asDeclared,
        ...Array.from({ length: 150 }, (_, index) => buildRow("deny", `added-${index}.example`)),
        buildRow("allow", "zz.example"),
      ],
      [buildVip("ceo@acme.example")],
    );
    const { body } = buildAdoptionMessage(adoptDrift(report, readDriftSettings(), readFile).steps);
    const lines = body.split("\n");
    expect(lines[0]).toMatch(/^- added allow zz\.example, created by Dana/);
    expect(lines.slice(100)).toEqual([
      "- and 51 more, none of them a new allow, a removed deny or a removed VIP; the diff shows all of them",
    ]);
  });

  it.each(Object.entries(HOSTILE))("sanitizes %s in files, commands and reports", (_label, text) => {
    const report = detectTestDrift(
      [
        ...asDeclared,
        { ...buildRow("deny", "evil.example", text), created_by: text, id: `a'b$(c)${text.slice(0, 5)}` },
      ],
      [buildVip("ceo@acme.example")],
    );
    const [file] = adoptDrift(report, readDriftSettings(), readFile).files;
    expect(file?.after).toContain("evil.example");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may come through.
    const harm = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]|^::|##vso/m;
    for (const output of [
      renderDriftText(report),
      renderDriftMarkdown(report),
      buildRevertCommands(report, "pulumi up").join("\n"),
      file?.after ?? "",
    ]) {
      expect(output).not.toMatch(harm);
    }
  });
});
