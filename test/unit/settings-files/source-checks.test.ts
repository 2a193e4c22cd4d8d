import { describe, expect, it } from "vitest";
import { lintSettings } from "../../../provider/settings-files/lint";
import { editSettings } from "../../../provider/settings-files/settings-editor";
import { createTestDirectory } from "../../support/test-directory";

const SOURCE = "sources:\n  phish: { kind: url, file: feed.txt, into: deny, expires: 14d }\n";
const GENERATED = `version: 1
source: { name: phish, kind: url, synced: 2026-11-29 }
deny:
  - { value: a.example, expires: 2026-12-13, seen: { first: 2026-11-29 } }
  - { value: b.example, expires: 2026-12-13, seen: { first: 2026-11-20, last: 2026-11-25 } }
`;

function lintSources(top: string, files: Readonly<Record<string, string>> = {}, today = "2026-11-29"): string[] {
  using directory = createTestDirectory({ ".git/HEAD": "", "acme.yaml": `version: 1\n${top}`, ...files });
  const { findings } = lintSettings(directory.at("acme.yaml"), { today, ownDomains: [] });
  return findings.map(({ code, level, place }) => `${level} ${code} ${place?.file.split("/").at(-1)}:${place?.line}`);
}

describe("lint of a source", () => {
  it("accepts a source with its generated file, whose entries expire soon", () => {
    expect(lintSources(`include: [sources/phish.yaml]\n${SOURCE}`, { "sources/phish.yaml": GENERATED })).toEqual([]);
  });

  it("warns of a source whose file isn't included", () => {
    expect(lintSources(SOURCE, { "sources/phish.yaml": GENERATED })).toEqual([
      "warning source-not-included acme.yaml:3",
    ]);
  });

  it("warns of a generated file without its source", () => {
    expect(lintSources("include: [sources/phish.yaml]\n", { "sources/phish.yaml": GENERATED })).toEqual([
      "warning source-gone phish.yaml:2",
    ]);
  });

  it("rejects a source of allows without the policy's permission", () => {
    const allows = SOURCE.replace("into: deny", "into: allow");
    const files = { "sources/phish.yaml": GENERATED.replace("deny:", "allow:") };
    const include = "include: [sources/phish.yaml]\n";
    expect(lintSources(`${include}${allows}`, files)).toEqual(["error policy-allow-from acme.yaml:4"]);
    expect(lintSources(`${include}${allows}policy: { allowFrom: true }\n`, files)).toEqual([]);
  });

  it.each<[label: string, tenant: string, files: Record<string, string>, codes: string[]]>([
    [
      "a tenant that grants it itself",
      "GRANT",
      { baseline: "" },
      ["error override-rejected", "error policy-allow-from"],
    ],
    [
      "a tenant that grants it next to other rules",
      "GRANT",
      { baseline: "policy: { requireTicket: [vips] }\n" },
      ["error override-rejected", "error policy-allow-from"],
    ],
    [
      "a middle file that grants it",
      "",
      { middle: "include: [baseline.yaml]\nGRANT", baseline: "" },
      ["error override-rejected", "error policy-allow-from"],
    ],
    ["a baseline that grants it", "", { baseline: "GRANT" }, []],
    [
      "a baseline that grants it next to another file",
      "",
      { baseline: "GRANT", shared: "policy: { requireTicket: [vips] }\n" },
      [],
    ],
    [
      "a baseline that lets a tenant grant it",
      "GRANT",
      { baseline: "allowedOverrides: [policy.allowFrom]\n" },
      ["note override"],
    ],
    [
      "a baseline that forbids it next to one that grants it",
      "",
      { baseline: "policy: { allowFrom: false }\n", shared: "GRANT" },
      ["error policy-allow-from"],
    ],
  ])("judges the permission for allows of %s", (_label, tenant, files, codes) => {
    const grant = "policy: { allowFrom: true }\n";
    const top = `include: [${[...Object.keys(files), "sources/phish"].map((name) => `${name}.yaml`).join(", ")}]\n${SOURCE.replace("into: deny", "into: allow")}${tenant.replace("GRANT", grant)}`;
    const texts = Object.entries(files).map(([name, text]) => [
      `${name}.yaml`,
      `version: 1\n${text.replace("GRANT", grant)}`,
    ]);
    const findings = lintSources(top, {
      ...Object.fromEntries(texts),
      "sources/phish.yaml": GENERATED.replace("deny:", "allow:"),
    });
    expect(findings.map((finding) => finding.replace(/ [^ ]+$/, ""))).toEqual(codes);
  });

  it("reports expired entries of a generated file once", () => {
    const files = { "sources/phish.yaml": GENERATED };
    expect(lintSources(`include: [sources/phish.yaml]\n${SOURCE}`, files, "2026-12-20")).toEqual([
      "warning expired phish.yaml:4",
    ]);
  });
});

it("keeps `seen` when an element is edited", () => {
  const edited = editSettings(GENERATED, [
    { action: "set", section: "deny", value: "a.example", key: "comment", newValue: "Campaign" },
    { action: "remove", section: "deny", value: "b.example" },
  ]);
  expect(edited).toBe(`version: 1
source: { name: phish, kind: url, synced: 2026-11-29 }
deny:
  - { value: a.example, comment: Campaign, expires: 2026-12-13, seen: { first: 2026-11-29 } }
`);
});
