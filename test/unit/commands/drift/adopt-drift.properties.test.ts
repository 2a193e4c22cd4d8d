import fc from "fast-check";
import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../../provider/client";
import { adoptDrift } from "../../../../provider/commands/drift/adopt-drift";
import { ADOPTABLE_KINDS } from "../../../../provider/commands/drift/plan-adoption";
import { detectDrift } from "../../../../provider/gitops/detect-drift";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import { readSettings } from "../../../../provider/settings-files/read-settings";
import { getRunCount } from "../../../support/matrix-sampling";

const TODAY = "2026-11-21";
const TYPES = {
  "a.example": "domain",
  "b.example": "domain",
  "c.example": "domain",
  "ann@d.example": "email_address",
  "2001:db8::1": "ip",
  "xn--mnchen-3ya.example": "domain",
  "kept.example": "domain",
} as const;
const VALUES = (Object.keys(TYPES) as (keyof typeof TYPES)[]).slice(0, -1);

const rowFields = {
  list: fc.constantFrom("allow", "deny"),
  scope: fc.constantFrom("global", "graymail"),
  comment: fc.constantFrom(undefined, "INC-1", "a: b # c", '"', "two\nlines", "- x", "---", "ja"),
};

/** The declaration of each value, if any, and its state after changes in the console. */
const worlds = fc.record({
  isFlow: fc.boolean(),
  isPart: fc.boolean(),
  values: fc.tuple(
    ...VALUES.map((value) =>
      fc.record({
        value: fc.constant(value),
        declared: fc.option(fc.record({ ...rowFields, approvedBy: fc.constantFrom(undefined, "tomas") }), {
          nil: undefined,
        }),
        there: fc.oneof(fc.constantFrom("as declared" as const, "gone" as const), fc.record(rowFields)),
      }),
    ),
  ),
});

it("leaves no drift in adopted values", () => {
  fc.assert(
    fc.property(worlds, ({ isFlow, isPart, values }) => {
      // One entry stays unchanged, or it would look like another tenant.
      const kept = { value: "kept.example", list: "deny", scope: "global", comment: "here" } as const;
      const declaring = [kept, ...values.flatMap(({ value, declared }) => (declared ? [{ value, ...declared }] : []))];
      const formatSection = (name: string): string => {
        const elements = declaring
          .filter(({ list }) => list === name)
          .map(({ list: _list, scope, ...rest }) =>
            JSON.stringify(scope === "global" ? rest : { ...rest, scope }).replaceAll(",", ", "),
          );
        if (elements.length === 0) return "";
        return isFlow
          ? `${name}: [${elements.join(", ")}]\n`
          : `${name}:\n${elements.map((element) => `  # of it\n  - ${element}\n`).join("")}`;
      };
      const options = "lists: { entries: { maxRemovalFraction: 1 } }\n";
      const files: Readonly<Record<string, string>> = isPart
        ? {
            "x/settings.yaml": `version: 1\ninclude: [deny.yaml]\n${options}${formatSection("allow")}`,
            "x/deny.yaml": `version: 1\n${formatSection("deny")}`,
          }
        : { "x/settings.yaml": `version: 1\n${options}${formatSection("allow")}${formatSection("deny")}` };
      const all = [...values, { value: kept.value, declared: kept, there: "as declared" as const }];
      const rows = all.flatMap(({ value, declared, there }): AllowDenyEntryRow[] => {
        const row = there === "as declared" ? declared : there === "gone" ? undefined : there;
        if (row === undefined) return [];
        const { list, scope, comment } = row;
        return [
          {
            id: value,
            list,
            value,
            entry_type: TYPES[value],
            verdict_scope: scope,
            comment,
            created_by: "ci",
            created_at: TODAY,
          },
        ];
      });
      const detectDriftAfter = (texts: Readonly<Record<string, string>>) => {
        const readText = (path: string): string => texts[path] ?? "";
        const settings = readSettings("x/settings.yaml", { today: TODAY, readFile: readText });
        return {
          read: readText,
          settings,
          of: (known: Parameters<typeof detectDrift>[3]) =>
            detectDrift(settings, buildObservedState(`${TODAY}T00:00:00Z`, rows, []), "host", known),
        };
      };
      const before = detectDriftAfter(files);
      const content = Object.fromEntries(before.settings.entries.map(({ key, text }) => [key, text]));
      const known = { entries: { content }, vips: { content: {} } };
      const drift = before.of(known);
      const {
        files: changed,
        steps,
        unadoptedItems: unadopted,
      } = adoptDrift(drift, before.settings, before.read, ADOPTABLE_KINDS);
      const after = detectDriftAfter({
        ...files,
        ...Object.fromEntries(changed.map((file) => [file.file, file.after])),
      });
      const still = after.of(known).items.map(({ key }) => key);
      const adoptedKeys = steps.flatMap(({ items }) => items.map(({ key }) => key));
      expect(still.filter((key) => adoptedKeys.includes(key))).toEqual([]);
      expect(
        steps.flatMap(({ items }) => items).length + new Set([...unadopted.map(({ item }) => item)]).size,
      ).toBeLessThanOrEqual(drift.items.length);
      // Untouched values keep their declaration with all its fields.
      const touched = new Set(drift.items.map(({ value }) => value));
      const listUntouched = ({ settings }: typeof before) =>
        settings.entries.filter(({ value }) => !touched.has(value)).map(({ location: _place, ...rest }) => rest);
      expect(listUntouched(after)).toEqual(listUntouched(before));
    }),
    { numRuns: getRunCount(40) },
  );
});
