import { symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inspectSettings, readSettings } from "../../../provider/settings-files/read-settings";
import { createTestDirectory } from "../../support/test-directory";

const TODAY = "2026-11-21";

/** Reads `tenant.yaml` from these files; a version line is prepended to each. */
function readIncluding(files: Record<string, string>, today = TODAY) {
  using directory = createTestDirectory(
    Object.fromEntries(Object.entries(files).map(([file, content]) => [file, `version: 1\n${content}`])),
  );
  const shortenPath = (file: string): string => file.replace(`${directory.path}/`, "");
  const formatLineText = (location: { file: string; line: number } | undefined): string =>
    `${shortenPath(location?.file ?? "")}:${location?.line}`;
  const result = inspectSettings(directory.at("tenant.yaml"), { today });
  const { settings, findings } = result;
  return {
    settings,
    spots: directory.formatFindings(findings),
    messages: directory.formatMessages(findings),
    files: result.files.map(shortenPath),
    entries: settings?.entries.map(({ key, text, location, overrides }) => [
      `${key} = ${text}`,
      [location, ...overrides].map(formatLineText),
    ]),
    vips: settings?.vips.map(({ key, text, location, overrides }) => [
      `${key} = ${text}`,
      [location, ...overrides].map(formatLineText),
    ]),
    excluded: settings?.excluded.map(({ declaration, location }) => [
      declaration.key,
      formatLineText(declaration.location),
      formatLineText(location),
    ]),
    expired: settings?.expired.map(({ key, location }) => [key, formatLineText(location)]),
  };
}

describe("an include", () => {
  it("is resolved relative to its file", () => {
    const { entries, vips, files, settings } = readIncluding({
      "tenant.yaml":
        "include: [shared/baseline.yaml]\nownDomains: [acme.example]\nvips: [ceo@acme.example]\nallow:\n  - partner.example\n",
      "shared/baseline.yaml":
        "include: [deep/denies.yml]\nownDomains: [group.example]\nvips:\n  - email: cfo@group.example\n    comment: Pays\n",
      "shared/deep/denies.yml": "deny:\n  - evil.example\n",
    });
    expect(files).toEqual(["tenant.yaml", "shared/baseline.yaml", "shared/deep/denies.yml"]);
    expect(entries).toEqual([
      ["evil.example = deny", ["shared/deep/denies.yml:3"]],
      ["partner.example = allow", ["tenant.yaml:6"]],
    ]);
    expect(vips).toEqual([
      ["ceo@acme.example = ", ["tenant.yaml:4"]],
      ["cfo@group.example = Pays", ["shared/baseline.yaml:5"]],
    ]);
    expect([...(settings?.ownDomains ?? [])].sort()).toEqual(["acme.example", "group.example"]);
  });

  it("is overridden by the nearer file", () => {
    const { entries, vips } = readIncluding({
      "tenant.yaml":
        "include: [b.yaml]\nvips:\n  - { email: CEO@acme.example, comment: c }\ndeny:\n  - { value: Evil.example, comment: c }\n",
      "b.yaml": "include: [a.yaml]\ndeny:\n  - { value: evil.example, comment: b }\n",
      "a.yaml": "vips:\n  - { email: ceo@acme.example, comment: a }\ndeny:\n  - { value: evil.example, comment: a }\n",
    });
    expect(entries).toEqual([["evil.example = deny: c", ["tenant.yaml:6", "b.yaml:4", "a.yaml:5"]]]);
    expect(vips).toEqual([["ceo@acme.example = c", ["tenant.yaml:4", "a.yaml:3"]]]);
  });

  it("requires an explicit removal before moving an entry to the other list", () => {
    const files = { "baseline.yaml": "deny:\n  - evil.example\n" };
    const moved = readIncluding({ ...files, "tenant.yaml": "include: [baseline.yaml]\nallow:\n  - evil.example\n" });
    expect(moved.spots).toEqual(["tenant.yaml:4:5 error list-overridden"]);
    expect(moved.messages).toEqual([
      '"evil.example" is on the deny list at baseline.yaml:3, in an included file; to move it to the allow list here, also add it to `remove: deny:`',
    ]);
    const result = readIncluding({
      ...files,
      "tenant.yaml": "include: [baseline.yaml]\nremove: { deny: [evil.example] }\nallow:\n  - evil.example\n",
    });
    expect(result.entries).toEqual([["evil.example = allow", ["tenant.yaml:5"]]]);
    expect(result.excluded).toEqual([["evil.example", "baseline.yaml:3", "tenant.yaml:3"]]);
  });

  it("counts once when reached by two paths", () => {
    const { entries, spots, files } = readIncluding({
      "tenant.yaml": "include: [left.yaml, ./x/../right.yaml]\n",
      "left.yaml": "include: [common.yaml]\n",
      "right.yaml": "include: [common.yaml]\n",
      "common.yaml": "deny:\n  - { value: evil.example, comment: once }\n",
    });
    expect(spots).toEqual([]);
    expect(entries).toEqual([["evil.example = deny: once", ["common.yaml:3"]]]);
    expect(files).toEqual(["tenant.yaml", "left.yaml", "common.yaml", "right.yaml"]);
  });

  it("requires a decision when two included files differ", () => {
    const leftFile = { "left.yaml": "deny:\n  - { value: evil.example, comment: left }\n" };
    const right = { "right.yaml": "deny:\n  - { value: evil.example, comment: right }\n" };
    const differing = readIncluding({ "tenant.yaml": "include: [left.yaml, right.yaml]\n", ...leftFile, ...right });
    expect(differing.spots).toEqual(["tenant.yaml:2:10 error duplicate-declaration"]);
    expect(differing.messages).toEqual([
      '"evil.example" is declared differently at left.yaml:3 and right.yaml:3, and this file includes both; declare it in this file too, to resolve the conflict',
    ]);
    const decided = readIncluding({
      "tenant.yaml": "include: [left.yaml, right.yaml]\ndeny: [evil.example]\n",
      ...leftFile,
      ...right,
    });
    expect(decided.entries).toEqual([["evil.example = deny", ["tenant.yaml:3", "left.yaml:3"]]]);
    const agreeing = readIncluding({
      "tenant.yaml": "include: [left.yaml, right.yaml]\n",
      ...leftFile,
      "right.yaml": "deny:\n  - { value: EVIL.example, comment: left }\n",
    });
    expect(agreeing.entries).toEqual([["evil.example = deny: left", ["left.yaml:3"]]]);
  });

  it.each([
    ["itself", { "tenant.yaml": "include: [tenant.yaml]\n" }, "tenant.yaml:2:11"],
    [
      "itself over others",
      {
        "tenant.yaml": "include: [a.yaml]\n",
        "a.yaml": "include: [b.yaml]\n",
        "b.yaml": "\ninclude: [x/../a.yaml]\n",
      },
      "b.yaml:3:11",
    ],
  ])("is rejected as a cycle when a file includes %s", (_label, files, spot) => {
    const { spots, settings } = readIncluding(files);
    expect(spots).toEqual([`${spot} error include-circle`]);
    expect(settings).toBeUndefined();
  });

  it("is reported at its line when missing, a directory or a URL", () => {
    const { spots } = readIncluding({
      "tenant.yaml": "include:\n  - none.yaml\n  - shared\n  - https://example.com/a.yaml\n  - good.yaml\n",
      "shared/a.yaml": "",
      "good.yaml": "deny: [evil.example]\n",
    });
    expect(spots).toEqual([
      "tenant.yaml:3:5 error file-unreadable",
      "tenant.yaml:4:5 error include-path",
      "tenant.yaml:5:5 error include-url",
    ]);
  });

  it("is rejected unread when it leads outside the repository", () => {
    using directory = createTestDirectory({
      "repository/.git/HEAD": "",
      "repository/settings/tenant.yaml":
        "version: 1\ninclude: [/etc/passwd, ../../secret.yaml, link.yaml, ../../../dev/zero, endless.yaml, ../baseline.yaml]\n",
      "repository/baseline.yaml": "version: 1\ndeny: [evil.example]\n",
      "secret.yaml": "secret: hunter2\n",
    });
    symlinkSync(directory.at("secret.yaml"), directory.at("repository/settings/link.yaml"));
    symlinkSync("/dev/zero", directory.at("repository/settings/endless.yaml"));
    const { findings, settings } = inspectSettings(directory.at("repository/settings/tenant.yaml"));
    expect(settings).toBeUndefined();
    expect(findings.map(({ code, place }) => `${place?.column} ${code}`)).toEqual([
      "11 include-path",
      "24 file-unreadable",
      "43 file-unreadable",
      "54 include-path",
      "73 file-unreadable",
    ]);
    expect(JSON.stringify(findings)).not.toContain("hunter2");
  });

  it("has its mistakes reported in its own file", () => {
    const { spots } = readIncluding({
      "tenant.yaml": "include: [a.yaml, b.yaml]\nallow:\n  - gmail.com\n",
      "a.yaml": "deny: [no]\n",
      "b.yaml": "dney: []\n",
    });
    expect(spots).toEqual(["a.yaml:2:8 error yaml-boolean", "b.yaml:2:1 error unknown-key"]);
  });

  it("has its options overridden one by one", () => {
    const { settings } = readIncluding({
      "tenant.yaml": "include: [baseline.yaml]\npolicy: { maxDays: 7 }\nlists: { entries: { maxRemovals: 7 } }\n",
      "baseline.yaml":
        "policy: { maxDays: 30, requireOwner: [allow] }\nlists: { entries: { maxRemovals: 30, mode: exclusive }, vips: { onDelete: keep } }\n",
    });
    expect(settings?.policy).toEqual({ maxDays: 7, requireOwner: ["allow"] });
    expect(settings?.lists).toEqual({
      entries: { maxRemovals: 7, mode: "exclusive" },
      vips: { onDelete: "keep" },
    });
  });
});

describe("a removal", () => {
  it("removes included declarations in any scope", () => {
    const { entries, vips, excluded, spots } = readIncluding({
      "tenant.yaml": "include: [baseline.yaml]\nremove:\n  deny: [NOISY.example]\n  vips: [cfo@acme.example]\n",
      "baseline.yaml":
        "vips: [ceo@acme.example, cfo@acme.example]\ndeny:\n  - noisy.example\n  - { value: noisy.example, scope: graymail }\n  - evil.example\n",
    });
    expect(entries?.map(([text]) => text)).toEqual(["evil.example = deny"]);
    expect(vips?.map(([text]) => text)).toEqual(["ceo@acme.example = "]);
    expect(excluded).toEqual([
      ["noisy.example", "baseline.yaml:4", "tenant.yaml:4"],
      ["noisy.example (graymail)", "baseline.yaml:5", "tenant.yaml:4"],
      ["cfo@acme.example", "baseline.yaml:2", "tenant.yaml:5"],
    ]);
    // The tenant denies less than the included file, and protects one VIP fewer.
    expect(spots).toEqual([
      "tenant.yaml:4:10 note override",
      "tenant.yaml:4:10 note override",
      "tenant.yaml:5:10 note override",
    ]);
  });

  it("is a warning when it removes nothing or is duplicated", () => {
    const { entries, spots } = readIncluding({
      "tenant.yaml":
        "include: [baseline.yaml]\nremove:\n  deny: [gone.example, here.example]\n  allow: [evil.example]\n  vips: [a@b.example, A@b.example]\ndeny: [here.example]\n",
      "baseline.yaml": "deny: [evil.example]\n",
    });
    expect(entries?.map(([text]) => text)).toEqual(["evil.example = deny", "here.example = deny"]);
    expect(spots).toEqual([
      "tenant.yaml:4:10 warning remove-nothing",
      "tenant.yaml:4:24 warning remove-nothing",
      "tenant.yaml:5:11 warning remove-nothing",
      "tenant.yaml:6:10 warning remove-nothing",
      "tenant.yaml:6:23 warning duplicate-removal",
    ]);
  });

  it("applies only to the includes of its own file", () => {
    const { entries } = readIncluding({
      "tenant.yaml": "include: [quiet.yaml, other.yaml]\n",
      "quiet.yaml": "include: [baseline.yaml]\nremove: { deny: [noisy.example] }\n",
      "other.yaml": "deny: [noisy.example]\n",
      "baseline.yaml": "deny: [noisy.example]\n",
    });
    expect(entries).toEqual([["noisy.example = deny", ["other.yaml:2"]]]);
  });
});

describe("an expiry date", () => {
  const files = {
    "tenant.yaml":
      "include: [baseline.yaml]\ndeny:\n  - { value: evil.example, comment: own, expires: 2026-11-21 }\n  - { value: bad.example, expires: never }\nvips:\n  - { email: ceo@acme.example, expires: 2026-11-20 }\n",
    "baseline.yaml": "deny:\n  - { value: evil.example, comment: all }\n",
  };

  it("is the last day on which an entry is declared", () => {
    const { entries, expired } = readIncluding(files, "2026-11-21");
    expect(entries).toEqual([
      ["bad.example = deny", ["tenant.yaml:5"]],
      ["evil.example = deny: own", ["tenant.yaml:4", "baseline.yaml:3"]],
    ]);
    expect(expired).toEqual([["ceo@acme.example", "tenant.yaml:7"]]);
  });

  it("expires an included declaration of the entry too", () => {
    const { entries, expired } = readIncluding(files, "2026-11-22");
    expect(entries).toEqual([["bad.example = deny", ["tenant.yaml:5"]]]);
    expect(expired).toEqual([
      ["evil.example", "tenant.yaml:4"],
      ["ceo@acme.example", "tenant.yaml:7"],
    ]);
  });
});

it("throws every mistake with its position for unusable files", () => {
  using directory = createTestDirectory({ "a.yaml": "version: 1\ndeny: [no]\nallow: [gmail.com, 010]\n" });
  const file = directory.at("a.yaml");
  expect(() => readSettings(file, { today: TODAY })).toThrow(
    expect.objectContaining({
      code: "ERR_SETTINGS_FILE",
      message: [
        `${file} is invalid: it has 2 mistakes.`,
        `  ${file}:2:8 error: no is read as text by some tools and as false by others; write "no" in quotes for text, or false (yaml-boolean)`,
        `  ${file}:3:20 error: value: 010 is read as 10 by YAML, not as text; write "010" in quotes (yaml-not-text)`,
      ].join("\n"),
    }),
  );
});

it("reads a shared include once when given a cache", () => {
  using directory = createTestDirectory({
    "a.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "b.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "baseline.yaml": "version: 1\ndeny: [evil.example, no]\n",
  });
  const cache = new Map();
  const first = inspectSettings(directory.at("a.yaml"), { today: TODAY, cache });
  directory.write("baseline.yaml", "version: 1\n");
  const second = inspectSettings(directory.at("b.yaml"), { today: TODAY, cache });
  expect(directory.formatFindings(first.findings)).toEqual(["baseline.yaml:2:22 error yaml-boolean"]);
  expect(second.findings).toEqual(first.findings);
});
