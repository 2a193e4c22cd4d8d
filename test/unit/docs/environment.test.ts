import { expect, it } from "vitest";
import { ENVIRONMENT_VARIABLES } from "../../../provider/model/environment-variables";
import { DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/environment.md");

/** The tables of variables that the package itself reads or sets. */
const OWN = [
  "Tenant",
  "Enforced plan",
  "Sources",
  "Permissions for a targets file",
  "Rollouts",
  "Variables of a health check",
  "Machine",
  "Internal variables",
];

const documentedNames = OWN.flatMap((heading) =>
  page.getTableRows(heading).map(([name = ""]) => name.replaceAll("`", "")),
);

it("documents each EMAIL_SECURITY_ variable once", () => {
  const ours = ENVIRONMENT_VARIABLES.filter((name) => !name.startsWith("TEST_")).map(
    (name) => `EMAIL_SECURITY_${name}`,
  );
  const named = documentedNames.filter((name) => name.startsWith("EMAIL_SECURITY_") && !name.includes("<"));
  expect(named.toSorted()).toEqual(ours.toSorted());
});
