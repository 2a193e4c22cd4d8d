import { describe, expect, it } from "vitest";
import { buildDesiredState, hashDesiredState } from "../../../provider/plan/desired-state";
import { readCsv } from "../../../provider/settings-files/csv-reader";
import { formatCsv } from "../../../provider/settings-files/csv-writer";
import { lintSettings } from "../../../provider/settings-files/lint";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { getReviewDueDay, isReviewValid } from "../../../provider/settings-files/reviews";
import { type Edit, editSettings } from "../../../provider/settings-files/settings-editor";
import { createTestDirectory } from "../../support/test-directory";

const TODAY = "2026-11-23";
const MARK = { on: TODAY, by: "lena@acme.example" };

const buildReviewEdit = (
  value: string,
  newValue: typeof MARK | (typeof MARK & { reason: string }) | undefined,
): Edit => ({
  action: "set",
  section: "deny",
  value,
  key: "reviewed",
  newValue,
});

describe("a review decision in a settings file", () => {
  it.each([
    ["- evil.example", "- value: evil.example\n    reviewed: { on: 2026-11-23, by: lena@acme.example }"],
    [
      "- value: evil.example # why\n    owner: Dana # who",
      "- value: evil.example # why\n    owner: Dana # who\n    reviewed: { on: 2026-11-23, by: lena@acme.example }",
    ],
    [
      "- value: evil.example\n    reviewed: { on: 2026-01-01, by: Dana } # once\n    owner: Dana",
      "- value: evil.example\n    reviewed: { on: 2026-11-23, by: lena@acme.example } # once\n    owner: Dana",
    ],
    [
      "- value: evil.example\n    reviewed:\n      on: 2026-01-01\n      by: Dana\n    owner: Dana",
      "- value: evil.example\n    reviewed: { on: 2026-11-23, by: lena@acme.example }\n    owner: Dana",
    ],
    [
      "- { value: evil.example, reviewed: {on: 2026-01-01, by: Dana}, owner: Dana }",
      "- { value: evil.example, reviewed: { on: 2026-11-23, by: lena@acme.example }, owner: Dana }",
    ],
  ])("leaves the rest of the file unchanged: %j", (before, after) => {
    const formatSurroundings = (element: string) =>
      `version: 1\n\n# ours\ndeny:\n  - a.example\n  ${element}\n  - z.example # last\n`;
    const written = editSettings(formatSurroundings(before), [buildReviewEdit("EVIL.example", MARK)]);
    expect(written).toBe(formatSurroundings(after));
    expect(editSettings(written, [buildReviewEdit("evil.example", undefined)])).not.toContain("reviewed");
  });

  it("is written as JSON in a JSON file", () => {
    const json = '{"version": 1, "deny": [{"value": "evil.example"}]}\n';
    expect(editSettings(json, [buildReviewEdit("evil.example", { ...MARK, reason: 'a "b", c: d' })])).toBe(
      '{"version": 1, "deny": [{"value": "evil.example", "reviewed": {"on": "2026-11-23", "by": "lena@acme.example", "reason": "a \\"b\\", c: d"}}]}\n',
    );
    expect(editSettings("version: 1\ndeny: [evil.example]\n", [buildReviewEdit("evil.example", MARK)])).toBe(
      "version: 1\ndeny: [{ value: evil.example, reviewed: { on: 2026-11-23, by: lena@acme.example } }]\n",
    );
  });

  it("reads back unchanged from CSV, with formulas escaped", () => {
    const reviewed = { ...MARK, reason: "=1+1" };
    using directory = createTestDirectory({
      "a.yaml": editSettings("version: 1\ndeny: [a.example, evil.example]\n", [
        buildReviewEdit("evil.example", reviewed),
      ]),
    });
    const text = formatCsv(readSettings(directory.at("a.yaml")));
    expect(text).toContain(`"'=1+1"`);
    expect(readCsv(Buffer.from(text)).rows.map((row) => row.reviewed)).toEqual([undefined, reviewed]);
    const torn = text.replace('"lena@acme.example"', '""');
    expect(() => readCsv(Buffer.from(torn))).toThrow(/row 3, column "reviewed by": is missing/);
  });

  it("is reported when invalid", () => {
    using directory = createTestDirectory({
      "a.yaml":
        'version: 1\ndeny: [{ value: a.example, reviewed: { on: 2026-02-30, by: "", when: x } }]\nvips: [{ email: a@b.example, reviewed: yes-it-was }]\n',
    });
    expect(directory.formatFindings(lintSettings(directory.at("a.yaml")).findings)).toHaveLength(4);
  });
});

describe("the validity of a review decision", () => {
  const isReviewedOn = (reviewed: string | undefined, reviewEvery?: string): boolean =>
    isReviewValid(reviewed === undefined ? undefined : { on: reviewed, by: "Dana" }, {
      today: TODAY,
      policy: reviewEvery === undefined ? {} : { reviewEvery },
    });

  it("ends with the review period", () => {
    expect([isReviewedOn("2026-11-14", "10d"), isReviewedOn("2026-11-13", "10d")]).toEqual([true, false]);
    expect([isReviewedOn("2026-08-26"), isReviewedOn("2026-08-25")]).toEqual([true, false]);
    expect([
      isReviewedOn("2026-11-24"),
      isReviewedOn("2026-11-25"),
      isReviewedOn("9999-12-31"),
      isReviewedOn(undefined),
    ]).toEqual([true, false, false, false]);
    expect(getReviewDueDay("9999-12-31", "52w")).toBe("9999-12-31");
  });
});

describe("review findings", () => {
  const formatPolicyFile = (policy: string): string =>
    `version: 1\n${policy}deny:\n  - a.example\n  - { value: b.example, reviewed: { on: 2026-05-01, by: Dana } }\n  - { value: c.example, reviewed: { on: 2026-11-01, by: Dana } }\nvips: [lena@acme.example]\n`;
  const listFindingCodes = (text: string): string[] => {
    using directory = createTestDirectory({ "a.yaml": text });
    return lintSettings(directory.at("a.yaml"), { today: TODAY }).findings.map(
      ({ code, level, place, message }) => `${place?.line} ${level} ${code}: ${message}`,
    );
  };

  it("are empty when no reviews are required", () => {
    expect(listFindingCodes(formatPolicyFile(""))).toEqual([]);
  });

  it("report overdue decisions", () => {
    expect(listFindingCodes(formatPolicyFile("policy: { reviewEvery: 90d }\n"))).toEqual([
      expect.stringMatching(
        /^4 note never-reviewed: 1 entry and 1 VIP of this file, from this line on, say nothing about a review/,
      ),
      '5 warning review-overdue: "b.example" was last reviewed on 2026-05-01 by "Dana", and its next review was due on 2026-07-30 (reviewEvery: 90d); review it again, and write the date and your name in its `reviewed` field, or remove it',
    ]);
  });

  it("don't change the digest of the desired state", () => {
    using directory = createTestDirectory({
      "a.yaml": "version: 1\ndeny: [evil.example]\n",
      "b.yaml": editSettings("version: 1\ndeny: [evil.example]\n", [buildReviewEdit("evil.example", MARK)]),
    });
    const hashFile = (name: string): string =>
      hashDesiredState(buildDesiredState(readSettings(directory.at(name)), undefined));
    expect(hashFile("b.yaml")).toBe(hashFile("a.yaml"));
  });
});
