import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { codesIn, DocsPage } from "../../support/docs-page";

it("documents each exported JSON schema and its file", () => {
  const { exports } = JSON.parse(readFileSync("provider/package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const known = Object.entries(exports).filter(([name]) => name.startsWith("./schemas/"));
  const documentedSchemas = new DocsPage("reference/schemas.md")
    .rows("JSON schemas")
    .map(([, , name = "", file = ""]) => [codesIn(name)[0], codesIn(file)[0]]);
  expect(Object.fromEntries(documentedSchemas)).toEqual(
    Object.fromEntries(
      known.map(([name, file]) => [`pulumi-email-security${name.slice(1)}`, String(file).replace(/^\.\//, "")]),
    ),
  );
});
