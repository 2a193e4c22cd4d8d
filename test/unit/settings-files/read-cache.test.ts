import { expect, it } from "vitest";
import { inspectSettings, type SettingsReadCache } from "../../../provider/settings-files/read-settings";

const FILES: Readonly<Record<string, string>> = {
  "base.yaml": `version: 1
policy: { maxDays: 400 }
ownDomains: [acme.example]
deny:
  - { value: evil.example, ticket: INC-1 }
  - { value: old.example, expires: 2026-06-30 }
  - gone.example
vips: [ceo@acme.example]
`,
  "mid.yaml": "version: 1\ninclude: [base.yaml]\nallow: [partner.example]\n",
  "a.yaml": "version: 1\ninclude: [mid.yaml]\nremove: { deny: [gone.example], allow: [nothing.example] }\n",
  "b.yaml": "version: 1\ninclude: [base.yaml]\ndeny: [{ value: evil.example, ticket: INC-2 }]\n",
  "c.yaml": "version: 1\ninclude: [base.yaml, mid.yaml]\n",
};

const createCachedReader = (cache?: SettingsReadCache) => {
  const reads: string[] = [];
  const readFile = (path: string): string => {
    reads.push(path);
    return FILES[path] ?? "";
  };
  const inspectFile = (file: string, today: string) =>
    inspectSettings(file, { today, ownDomains: [], readFile, ...(cache && { cache }) });
  return { reads, read: inspectFile };
};

it("reads a shared include once with the same result as uncached", () => {
  const kept = createCachedReader(new Map());
  const uncachedReader = createCachedReader();
  // Changing the date and changing it back re-evaluates which entries have expired.
  for (const today of ["2026-06-01", "2026-07-01", "2026-06-01"]) {
    for (const file of ["a.yaml", "b.yaml", "c.yaml", "a.yaml"])
      expect([file, today, kept.read(file, today)]).toEqual([file, today, uncachedReader.read(file, today)]);
  }
  const included = kept.reads.filter((path) => path === "base.yaml" || path === "mid.yaml");
  expect(included).toEqual(["mid.yaml", "base.yaml"]);

  const findOldEntry = (file: string) =>
    kept.read(file, "2026-06-01").draft?.entries.find(({ value }) => value === "old.example");
  expect(findOldEntry("a.yaml")).toBeDefined();
  expect(findOldEntry("a.yaml")).toBe(findOldEntry("c.yaml"));
});

it("checks shared declarations with each tenant's own settings", () => {
  const files: Readonly<Record<string, string>> = {
    "base.yaml": `version: 1
allow:
  - acme.example
  - { value: gmail.com, acceptRisk: "half the customers" }
deny:
  - evil.example
  - { value: spam.example, scope: bulk }
vips: [ceo@acme.example]
`,
    "acme.yaml": "version: 1\ninclude: [base.yaml]\nownDomains: [acme.example]\n",
    "evil.yaml": "version: 1\ninclude: [base.yaml]\nownDomains: [evil.example]\n",
    "plain.yaml": "version: 1\ninclude: [base.yaml]\nallow: [partner.example]\n",
    "both.yaml": "version: 1\ninclude: [base.yaml]\nallow: [spam.example]\n",
    "protect.yaml": "version: 1\ninclude: [base.yaml]\nlists: { entries: { protect: [partner.example] } }\n",
    "ignore.yaml": "version: 1\ninclude: [base.yaml]\nlists: { entries: { ignore: ['*.example'] } }\n",
    "keep.yaml": "version: 1\ninclude: [base.yaml]\nlists: { vips: { mode: exclusive, onDelete: keep } }\n",
    "exclusive.yaml": "version: 1\ninclude: [base.yaml]\nlists: { entries: { mode: exclusive } }\n",
  };
  const cache: SettingsReadCache = new Map();
  const listErrorCodes = (file: string) =>
    inspectSettings(file, { ownDomains: [], readFile: (path) => files[path] ?? "", cache })
      .findings.filter(({ level }) => level === "error")
      .map(({ code, place }) => `${code} ${place?.file}:${place?.line}`);
  // In this order and in reverse: one tenant's findings must not leak into the next one's.
  const collectErrors = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, listErrorCodes(name)]));
  const names = Object.keys(files).slice(1);
  const first = collectErrors(names);
  expect(first).toEqual({
    "acme.yaml": ["allow-own-domain base.yaml:3"],
    "evil.yaml": ["deny-own-domain base.yaml:6"],
    "plain.yaml": [],
    "both.yaml": ["duplicate-declaration base.yaml:7"],
    "protect.yaml": ["list-options protect.yaml:3"],
    "ignore.yaml": ["list-options ignore.yaml:3"],
    "keep.yaml": ["list-options keep.yaml:3"],
    "exclusive.yaml": [],
  });
  expect(collectErrors(names.toReversed())).toEqual(first);
});
