import fc from "fast-check";
import { expect, it } from "vitest";
import { exportSettings } from "../../../../provider/gitops/export-settings";
import { buildDesiredState } from "../../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../../provider/plan/mail-evidence";
import { makePlan } from "../../../../provider/plan/make-plan";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import { parseStackLists } from "../../../../provider/plan/stack-lists";
import { type Baseline, buildTenantFile } from "../../../../provider/rollout/tenants/tenant-file";
import { lintSettings } from "../../../../provider/settings-files/lint";
import { readSettings } from "../../../../provider/settings-files/read-settings";
import { isAutoDetected } from "../../../../provider/tenant";
import { anyEntry, anyVip } from "../../../support/row-arbitraries";

const AT = "2026-11-21T20:00:00.000Z";
const TODAY = AT.slice(0, 10);

const plainEntry: typeof anyEntry = fc.record({
  list: fc.constantFrom("allow", "deny"),
  entry_type: fc.constant("domain"),
  value: fc.stringMatching(/^[a-c]{1,2}\.example$/),
  verdict_scope: fc.constantFrom("global", "global", "graymail"),
  comment: fc.constantFrom(undefined, "one", "another"),
  ...{ created_at: fc.constant(undefined), created_by: fc.constant(undefined) },
});

const plainVip: typeof anyVip = fc.record({
  email: fc.stringMatching(/^[a-c]@acme\.example$/),
  comment: fc.constantFrom("", "one", "another"),
  source: fc.constant("manual"),
  ...{ full_name: fc.constant(""), job_title: fc.constant(""), department: fc.constant("") },
  ...{ added_by: fc.constant(""), date_added: fc.constant(""), updated_at: fc.constant("") },
});

/** Typical entries, and invalid ones. */
const entries = fc
  .oneof(fc.array(plainEntry, { maxLength: 8 }), fc.array(anyEntry, { maxLength: 8 }))
  .map((rows) => rows.map((row, index) => ({ ...row, id: `ade_${index}` })));

const vip = fc.oneof(fc.array(plainVip, { maxLength: 4 }), fc.array(anyVip, { maxLength: 4 }));

/** Returns a file reader; the first file is the top-level one. */
const createFileReader =
  (files: ReadonlyMap<string, string>) =>
  (path: string): string => {
    const text = files.get(path);
    if (text === undefined) throw new Error(`there is no ${path}`);
    return text;
  };

/**
 * Exports another tenant to one file, as a baseline that may contain any of this tenant's entries, possibly with
 * different values.
 */
function exportBaseline(
  rows: Parameters<typeof buildObservedState>[1],
  vips: Parameters<typeof buildObservedState>[2],
) {
  const { files } = exportSettings(buildObservedState(AT, rows, vips), { host: "a.example" });
  const top = readSettings("settings.yaml", { today: TODAY, ownDomains: [], readFile: createFileReader(files) });
  return { files, settings: top };
}

it("generates a tenant file whose first run only adds missing baseline items", () => {
  let [added, shared, strict] = [0, 0, 0];
  fc.assert(
    fc.property(entries, vip, entries, vip, fc.nat(3), (rows, vips, others, otherVips, share) => {
      // Some of the tenant's entries are in the baseline: identical, on the other list or with another comment.
      const generatedRows = rows.slice(0, share).map((row, index) => ({
        ...row,
        list: index === 1 && row.list === "allow" ? "deny" : row.list,
        comment: index === 2 ? "another" : row.comment,
      }));
      const below = exportBaseline(
        [...generatedRows, ...others].map((row, index) => ({ ...row, id: `x${index}` })),
        otherVips,
      );
      const baseline: Baseline = { include: "settings.yaml", settings: below.settings };
      const observed = buildObservedState(AT, rows, vips);
      // A generated tenant's people may belong to another tenant.
      const tenantFile = buildTenantFile(
        { ...observed },
        { host: "a.example", baseline: { ...baseline, settings: { ...below.settings, ownDomains: [] } } },
      );
      const files = new Map([...below.files, ["acme.yaml", tenantFile.text]]);
      const { settings, findings } = lintSettings("acme.yaml", {
        today: TODAY,
        ownDomains: [],
        readFile: createFileReader(files),
      });
      if (settings === undefined) {
        // The two contradict each other in a way that a person has to resolve: it is reported, and no file is written.
        expect(findings.some(({ level }) => level === "error")).toBe(true);
        return;
      }
      const plan = makePlan({
        desired: buildDesiredState(settings, parseStackLists({}, "acme", undefined), findings),
        observed,
        tenant: { host: "a.example", name: "acme" },
        source: { kind: "files", files: settings.files },
        mail: buildEmptyEvidence(AT, "not asked"),
      });
      const keys = new Set([...below.settings.entries, ...below.settings.vips].map(({ key }) => key));
      // Automatically detected VIPs are left to detection, whatever comment the baseline declares.
      const detected = [...observed.vips].flatMap(([key, row]) => (isAutoDetected(row) ? [key] : []));
      for (const { operation, key } of plan.changes) {
        // If the baseline declares a row that no file can declare as it is, the row is changed or blocks the run. The
        // plan shows it.
        const isOwn = detected.includes(key) || tenantFile.undeclarable.length > 0;
        expect([operation, keys.has(key)]).toEqual([isOwn ? operation : "add", true]);
        expect(operation).not.toBe("remove");
      }
      added += plan.changes.length;
      shared += tenantFile.sharedCount;
      strict += Number(tenantFile.undeclarable.length === 0);
    }),
    { seed: 24, numRuns: 60 },
  );
  expect(Math.min(added, shared, strict)).toBeGreaterThan(10);
});
