import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FINDING_RULES } from "../../../provider/files/finding-rules";
import { RISKS } from "../../../provider/settings/risk";
import { DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/findings.md");

it("documents every settings file finding with its level and text", () => {
  const rows = ["File format", "Declarations", "Team policy"].flatMap((one) => page.rows(one));
  const documentedFindings = rows.map(([code = "", level, text = ""]) => ({
    code: code.replaceAll("`", ""),
    level,
    text,
  }));
  const known = [...FINDING_RULES.values()].filter(({ code }) => !Object.hasOwn(RISKS, code));
  expect(documentedFindings.map(({ code }) => code).toSorted()).toEqual(known.map(({ code }) => code).toSorted());
  for (const { code, level, text } of documentedFindings) {
    const rule = FINDING_RULES.get(code);
    expect([code, level]).toEqual([code, rule?.level]);
    // The paragraph above the table documents what all policy rules have in common.
    const all = `${rule?.title.replace(/^Policy: (.)/, (_all, first: string) => first.toUpperCase())}. ${rule?.help}`;
    expect(all.startsWith(text) && all.length - text.length < 200).toBe(true);
  }
});

it("documents every finding that only a plan reports", () => {
  const sources = globSync("provider/plan/*.ts").map((file) => readFileSync(file, "utf8"));
  const known = sources.flatMap(
    (text) => text.match(/(?<=(?:code: |isContent \? |OTHER_TENANT_CODE = )")[a-z-]+(?=")/g) ?? [],
  );
  const documentedCodes = page.rows("Findings of a plan").flatMap(([code = ""]) => code.match(/^`(.*)`$/)?.[1] ?? []);
  expect(documentedCodes.toSorted()).toEqual([...new Set(known)].toSorted());
});
