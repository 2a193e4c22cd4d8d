import { expect, it } from "vitest";
import * as assumptions from "../../../provider/settings/assumptions";
import { DocsPage } from "../../support/docs-page";

it("documents every assumption with its value", () => {
  const rows = new DocsPage("reference/assumptions.md").rows("Constants");
  const documentedRows = rows.map(([name = "", value = ""]) => [name.replaceAll("`", ""), value.replaceAll("`", "")]);
  const known = Object.entries(assumptions).map(([name, value]) => [name, JSON.stringify(value)]);
  expect(Object.fromEntries(documentedRows)).toEqual(Object.fromEntries(known));
  expect(documentedRows).toHaveLength(known.length);
});
