import { readFileSync } from "node:fs";
import { expect, it, test } from "vitest";
import { DocsPage, extractCodes } from "../../support/docs-page";

interface Shape {
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
}

const schema = JSON.parse(readFileSync("provider/dist/plugin/schema.json", "utf8")) as {
  readonly functions: Readonly<Record<string, { readonly inputs?: Shape; readonly outputs: Shape }>>;
  readonly types: Readonly<Record<string, Shape>>;
};

const page = new DocsPage("reference/functions.md");

const TABLES = ["Current lists", "Detected threats", "Metrics", "User reports"];

const rows = TABLES.flatMap((heading) => page.getTableRows(heading));

it("documents every function once", () => {
  const documentedFunctions = rows.flatMap(([name = ""]) => extractCodes(name));
  const known = Object.keys(schema.functions).map((token) => token.replace(/^.*:/, ""));
  expect(documentedFunctions.toSorted()).toEqual(known.toSorted());
});

test.for(Object.entries(schema.functions))(
  "documents the arguments and result of %s as in the schema",
  ([token, { inputs = {}, outputs }]) => {
    const [, tokenType = "", input = ""] = rows.find(([name]) => token.endsWith(`:${name?.replaceAll("`", "")}`)) ?? [];
    // Values are in quotes, and types are links.
    const extractNames = (text: string) =>
      extractCodes(text.replace(/\[[^\]]*\]\([^)]*\)/g, "")).filter((code) => /^\w+$/.test(code));
    expect(extractNames(tokenType).toSorted()).toEqual(Object.keys(inputs.properties ?? {}).toSorted());
    expect(extractNames(input).toSorted()).toEqual(Object.keys(outputs.properties ?? {}).toSorted());
  },
);

const types = Object.entries(schema.types).flatMap(([token, { properties, required = [] }]) =>
  properties === undefined ? [] : [[token.replace(/^.*:/, ""), Object.keys(properties), required] as const],
);

test.for(types)("documents the fields of %s as in the schema", ([type, properties, required]) => {
  const [, section = ""] = page.text.split(`### \`${type}\`\n`);
  // Text in parentheses describes a field; code in it isn't a field name.
  const text = section.replace(/\n##[\s\S]*$/, "").replace(/\((?:[^()]|\([^()]*\))*\)/g, "");
  expect(extractCodes(text).toSorted()).toEqual(properties.toSorted());
  const bold = [...text.matchAll(/\*\*`(\w+)`\*\*/g)].map(([, name = ""]) => name);
  expect(bold.toSorted()).toEqual(required.toSorted());
});

it("documents no type that the schema lacks", () => {
  const documentedTypes = page.headings.flatMap((heading) => extractCodes(heading));
  expect(documentedTypes.toSorted()).toEqual(types.map(([type]) => type).toSorted());
});
