import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CST, Lexer } from "yaml";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { exportSettings, type SettingsExport } from "../../../provider/gitops/export-settings";
import { encodeEntry } from "../../../provider/model/encoded-list";
import { canonicalizeValue } from "../../../provider/model/entry-value";
import { ENTRY_LIST_KIND } from "../../../provider/model/list-arguments";
import type { PatternTarget } from "../../../provider/model/list-pattern";
import { parseValidPatterns } from "../../../provider/model/list-protection";
import { canonicalizeComment } from "../../../provider/model/text";
import { buildDesiredState } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { encodeRowKey } from "../../../provider/resources/lifecycle/entry-match";
import { readSettings } from "../../../provider/settings-files/read-settings";
import type { Settings } from "../../../provider/settings-files/settings-model";
import { findTerminalCommands } from "../../support/hostile-text";
import { getRunCount } from "../../support/matrix-sampling";
import { anyEntry, anyVip } from "../../support/row-arbitraries";

const AT = "2026-11-21T20:00:00.000Z";

const OWN: VipEmployeeRow = {
  email: "ceo@acme.example",
  full_name: "",
  job_title: "",
  department: "",
  comment: "",
  added_by: "Dana",
  date_added: "",
  updated_at: "",
  source: "manual",
};

const tenant = fc.record({
  entries: fc
    .array(anyEntry, { maxLength: 12 })
    .map((rows) => rows.map((row, index) => ({ ...row, id: `ade_${index}` }))),
  // A tenant with only external mailboxes gets no file.
  vips: fc.array(anyVip, { maxLength: 6 }).map((vips) => [...vips, OWN]),
  includeAutomatic: fc.boolean(),
  ownDomains: fc.constantFrom([], ["acme.example"]),
});

/** Returns the target that the lists match patterns against. */
function getPatternTarget(row: AllowDenyEntryRow): PatternTarget {
  return ENTRY_LIST_KIND.getPatternTarget(encodeRowKey(row), encodeEntry(row));
}

/**
 * Returns a file without its quoted strings, as YAML's own lexer finds them: a quote in a comment doesn't start a
 * string.
 */
function removeQuotedText(text: string): string {
  const marks = new Set<string>([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);
  return [...new Lexer().lex(text)].filter((token) => !marks.has(token) && !/^["']/.test(token)).join("");
}

function readBack({ files }: SettingsExport): Settings {
  return readSettings("settings.yaml", {
    today: AT.slice(0, 10),
    readFile: (path) => {
      const file = files.get(path);
      if (file === undefined) throw new Error(`there is no ${path}`);
      return file;
    },
  });
}

describe("exportSettings for an arbitrary tenant", () => {
  it("declares everything the tenant holds or reports it as undeclarable", () => {
    fc.assert(
      fc.property(tenant, ({ entries, vips, includeAutomatic, ownDomains }) => {
        const observed = buildObservedState(AT, entries, vips);
        const exported = exportSettings(observed, { host: "mail.example", ownDomains, includeAutomatic });
        const settings = readBack(exported);
        const plan = makePlan({
          desired: buildDesiredState(settings, undefined),
          observed,
          tenant: { host: "mail.example", name: "acme" },
          source: { kind: "files", files: settings.files },
          mail: buildEmptyEvidence(observed.readAt, "not requested"),
        });
        expect([plan.changes, plan.blockers]).toEqual([[], []]);
        const everything = [...exported.files.values()].join("\n");

        for (const entry of settings.entries) {
          // The row that a run would find for the entry matches its declaration, so nothing is written.
          const valueRows = entries.filter(
            (row) =>
              row.entry_type === entry.entryType &&
              canonicalizeValue(row.value) === entry.value &&
              row.list === entry.list,
          );
          // A row with a missing scope stands for another scope only if no row has that scope.
          const scopeRows = valueRows.filter((row) => (row.verdict_scope ?? "global") === entry.verdictScope);
          const alike = scopeRows.length > 0 ? scopeRows : valueRows.filter((row) => row.verdict_scope === undefined);
          const match = alike.find((row) => row.value === entry.value) ?? alike[0];
          expect(match, entry.key).toBeDefined();
          expect(canonicalizeComment(match?.comment)).toBe(entry.comment ?? "");
        }
        for (const vip of settings.vips) {
          const rows = vips.filter(({ email }) => email !== undefined && email.trim().toLowerCase() === vip.email);
          expect(
            rows.some((row) => canonicalizeComment(row.comment) === (vip.comment ?? "")),
            vip.key,
          ).toBe(true);
        }
        // Each row is declared, duplicates a declared one, or is reported.
        const declared = new Set(settings.entries.map((entry) => `${entry.list} ${entry.value}`));
        const isReported = ({ list, value }: AllowDenyEntryRow): boolean =>
          exported.undeclarable.some((line) => line.startsWith(`${JSON.stringify(list)} `)) || value === "";
        for (const row of entries) {
          expect(declared.has(`${row.list} ${canonicalizeValue(row.value)}`) || isReported(row), row.id).toBe(true);
        }
        expect(exported.entries).toBe(settings.entries.length);
        expect(exported.vips).toBe(settings.vips.length);
        const named = new Set(vips.map(({ email }) => email?.trim().toLowerCase()));
        named.delete(undefined);
        const nameless = vips.filter(({ email }) => email === undefined).length;
        const undeclarableVips = exported.undeclarable.filter((line) => line.startsWith("VIP ")).length;
        expect(exported.vips + exported.automatic + undeclarableVips).toBe(named.size + nameless);
        for (const line of exported.undeclarable) {
          expect(findTerminalCommands(line)).toEqual([]);
          expect(everything).toContain(
            line
              .replace(/ \(the list ignores it\)$/, "")
              .replaceAll("\uFFFE", "\\ufffe")
              .replaceAll("\uFFFF", "\\uffff"),
          );
        }
        for (const text of exported.files.values()) expect(findTerminalCommands(removeQuotedText(text))).toEqual([]);
      }),
      { numRuns: getRunCount(250) },
    );
  });

  it("ignores only reported rows", () => {
    fc.assert(
      fc.property(tenant, ({ entries, vips, includeAutomatic, ownDomains }) => {
        const observed = buildObservedState(AT, entries, vips);
        const exported = exportSettings(observed, { host: "mail.example", ownDomains, includeAutomatic });
        const { lists, entries: declared } = readBack(exported);
        const patterns = parseValidPatterns(lists.entries?.ignore);
        for (const entry of declared) expect(patterns.some((pattern) => pattern.matches(entry))).toBe(false);
        const ignored = entries.filter((row) => patterns.some((pattern) => pattern.matches(getPatternTarget(row))));
        const ignoredLines = exported.undeclarable.filter((line) =>
          /^"(?:allow|deny)" .*\(the list ignores it\)$/s.test(line),
        );
        expect(ignored.length).toBeGreaterThanOrEqual(ignoredLines.length);
        expect(ignoredLines.length > 0).toBe(patterns.length > 0);
        // A pattern of wildcards only would also match every later row.
        for (const { text } of patterns) expect(text).toMatch(/[\p{L}\p{N}]{2}/u);
        for (const { text } of patterns) expect(["allow:*", "deny:*", "*"]).not.toContain(text);
      }),
    );
  });
});
