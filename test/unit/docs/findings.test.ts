import { expect, it } from "vitest";
import { PLAN_BLOCKER_CODES, PLAN_FINDING_CODES } from "../../../provider/plan/plan-codes";
import { DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/findings.md");

it("documents every finding that only a plan reports", () => {
  const documentedCodes = page
    .getTableRows("Findings of a plan")
    .flatMap(([code = ""]) => code.match(/^`(.*)`$/)?.[1] ?? []);
  expect(documentedCodes.toSorted()).toEqual([...PLAN_FINDING_CODES, ...PLAN_BLOCKER_CODES].toSorted());
});
