import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { type Exported, exportSettings } from "../../../provider/gitops/export";
import { readSettings } from "../../../provider/gitops/files/read-settings";
import type { Settings } from "../../../provider/gitops/files/settings";
import { desiredOf } from "../../../provider/gitops/plan/desired";
import { withoutEvidence } from "../../../provider/gitops/plan/mail-evidence";
import { makePlan } from "../../../provider/gitops/plan/make-plan";
import { observedFrom } from "../../../provider/gitops/plan/observed";
import { keyOfRow } from "../../../provider/resources/lifecycle/entry-match";
import { canonicalValue } from "../../../provider/settings/entry-value";
import { textOfEntry } from "../../../provider/settings/keyed-list";
import { ENTRIES, readPatterns } from "../../../provider/settings/list-arguments";
import type { PatternTarget } from "../../../provider/settings/pattern";
import { canonicalComment } from "../../../provider/settings/text";
import { commandsIn, hostileText } from "../../support/hostile-text";

const AT = "2026-11-21T20:00:00.000Z";

const value = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-c]{1,2}\.(?:example|co\.uk|com)$/) },
  fc.stringMatching(/^[a-c]@[ab]\.example$/),
  fc.constantFrom("192.0.2.1", "192.0.2.10", "10.0.0.1", "2001:db8::1", "::1", "2001:10:20:30:40:50:1:2"),
  fc.constantFrom(
    "gmail.com",
    "co.uk",
    "acme.example",
    "acme-login.example",
    "x.acme.example",
    "Evil.Example",
    " a.example",
    "bücher.example",
  ),
  fc.constantFrom(
    "192.0.2.0/24",
    "*.a.example",
    "*",
    "allow:a.example",
    "",
    " ",
    "a..b",
    "http://a.example/x",
    "not a value",
    "a.example ",
  ),
  hostileText,
);

const comment = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  fc.constantFrom(
    "",
    " ",
    "\u200b",
    "---",
    "no",
    "010",
    "Contract 7",
    " padded ",
    "one\ntwo",
    "one\r\n\r\n  two",
    "é",
    "e\u0301",
    "x".repeat(3_000),
    "# no",
    "a: b",
    "(unmanaged) deny",
  ),
  hostileText,
);

const text = fc.oneof(fc.constantFrom(undefined, "ci", "Dana Reyes", "2026-01-02T03:04:05Z"), hostileText);

const entryRow: fc.Arbitrary<Omit<AllowDenyEntryRow, "id">> = fc.record({
  list: fc.oneof({ weight: 20, arbitrary: fc.constantFrom("allow", "deny") }, fc.constantFrom("block", "")),
  entry_type: fc.constant("?"),
  value,
  verdict_scope: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom("global", "graymail", undefined) },
    fc.constantFrom("Global", "bulk", "", " x ", "a (b), c", "\u001b[31m"),
  ),
  comment,
  created_at: text,
  created_by: text,
});

/** Mostly what the value is; sometimes another one, or one that nobody knows. */
const typed = fc
  .tuple(entryRow, fc.constantFrom("right", "right", "right", "domain", "ip", "url", "\u0007"))
  .map(([row, type]) => {
    const right = row.value.includes("@")
      ? "email_address"
      : /^[\d.]+$|:.*:/.test(row.value)
        ? "ip"
        : "domain";
    return { ...row, entry_type: type === "right" ? right : type };
  });

const vipRow: fc.Arbitrary<VipEmployeeRow> = fc.record({
  email: fc.oneof(
    { weight: 5, arbitrary: fc.stringMatching(/^[a-d]{1,2}@acme\.example$/) },
    fc.constantFrom(undefined, "A@acme.example", "no mailbox", "*@acme.example", " b@acme.example"),
    hostileText.filter((one) => one.trim() !== ""),
  ),
  full_name: text,
  job_title: text,
  department: text,
  comment,
  added_by: fc.oneof(fc.constantFrom(undefined, "", "ci"), hostileText),
  date_added: text,
  updated_at: text,
  source: fc.constantFrom("manual", "auto", undefined, "\u202e"),
});

const tenant = fc.record({
  entries: fc
    .array(typed, { maxLength: 12 })
    .map((rows) => rows.map((row, at) => ({ ...row, id: `ade_${at}` }))),
  vips: fc.array(vipRow, { maxLength: 6 }),
  includeAutomatic: fc.boolean(),
  ownDomains: fc.constantFrom([], ["acme.example"]),
});

/** What the lists hold a pattern against. */
function targetOf(row: AllowDenyEntryRow): PatternTarget {
  return ENTRIES.target(keyOfRow(row), textOfEntry(row));
}

function readBack({ files }: Exported): Settings {
  return readSettings("settings.yaml", {
    today: AT.slice(0, 10),
    readFile: (path) => {
      const file = files.get(path);
      if (file === undefined) throw new Error(`there is no ${path}`);
      return file;
    },
  });
}

describe("exportSettings, of any tenant", () => {
  it("declares what the tenant holds with the very same texts, or says of it that no file can", () => {
    fc.assert(
      fc.property(tenant, ({ entries, vips, includeAutomatic, ownDomains }) => {
        const observed = observedFrom(AT, entries, vips);
        const exported = exportSettings(observed, { host: "mail.example", ownDomains, includeAutomatic });
        const settings = readBack(exported);
        const plan = makePlan({
          desired: desiredOf(settings, undefined),
          observed,
          tenant: { host: "mail.example", name: "acme" },
          source: { kind: "files", files: settings.files },
          mail: withoutEvidence(observed.at, "not asked"),
        });
        expect([plan.changes, plan.guards]).toEqual([[], []]);
        const everything = [...exported.files.values()].join("\n");

        for (const one of settings.entries) {
          // The row that a run would find for it is as declared, so nothing is written.
          const found = entries.find(
            (row) =>
              row.entry_type === one.entryType &&
              canonicalValue(row.value) === one.value &&
              row.list === one.list &&
              (row.verdict_scope ?? one.verdictScope) === one.verdictScope,
          );
          expect(found, one.key).toBeDefined();
          expect(canonicalComment(found?.comment)).toBe(one.comment ?? "");
        }
        for (const one of settings.vips) {
          const rows = vips.filter(
            ({ email }) => email !== undefined && email.trim().toLowerCase() === one.email,
          );
          expect(
            rows.some((row) => canonicalComment(row.comment) === (one.comment ?? "")),
            one.key,
          ).toBe(true);
        }
        // Each row is declared, stands beside one that is, or is told of.
        const declared = new Set(settings.entries.map((one) => `${one.list} ${one.value}`));
        const isTold = ({ list, value }: AllowDenyEntryRow): boolean =>
          exported.left.some((line) => line.startsWith(`${JSON.stringify(list)} `)) || value === "";
        for (const row of entries) {
          expect(declared.has(`${row.list} ${canonicalValue(row.value)}`) || isTold(row), row.id).toBe(true);
        }
        expect(exported.entries).toBe(settings.entries.length);
        expect(exported.vips).toBe(settings.vips.length);
        const named = new Set(vips.map(({ email }) => email?.trim().toLowerCase()));
        named.delete(undefined);
        const nameless = vips.filter(({ email }) => email === undefined).length;
        const leftVips = exported.left.filter((line) => line.startsWith("VIP ")).length;
        expect(exported.vips + exported.automatic + leftVips).toBe(named.size + nameless);
        for (const line of exported.left) {
          expect(commandsIn(line)).toEqual([]);
          expect(everything).toContain(
            line
              .replace(/ \(the list ignores it\)$/, "")
              .replaceAll("\uFFFE", "\\ufffe")
              .replaceAll("\uFFFF", "\\uffff"),
          );
        }
        expect(commandsIn(everything.replaceAll(/"(?:[^"\\]|\\.)*"/g, ""))).toEqual([]);
      }),
      { numRuns: 250 },
    );
  });

  it("ignores what it says it ignores, and nothing that it declares", () => {
    fc.assert(
      fc.property(tenant, ({ entries, vips, includeAutomatic, ownDomains }) => {
        const observed = observedFrom(AT, entries, vips);
        const exported = exportSettings(observed, { host: "mail.example", ownDomains, includeAutomatic });
        const { lists, entries: declared } = readBack(exported);
        const patterns = readPatterns(lists.entries?.ignore);
        for (const one of declared) expect(patterns.some((pattern) => pattern.matches(one))).toBe(false);
        const ignored = entries.filter((row) => patterns.some((pattern) => pattern.matches(targetOf(row))));
        const told = exported.left.filter((line) =>
          /^"(?:allow|deny)" .*\(the list ignores it\)$/s.test(line),
        );
        expect(ignored.length).toBeGreaterThanOrEqual(told.length);
        expect(told.length > 0).toBe(patterns.length > 0);
        // A pattern of nothing but any characters would name all that comes later too.
        for (const { text } of patterns) expect(text).toMatch(/[\p{L}\p{N}]{2}/u);
        for (const { text } of patterns) expect(["allow:*", "deny:*", "*"]).not.toContain(text);
      }),
    );
  });
});
