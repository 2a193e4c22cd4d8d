import { readFileSync } from "node:fs";
import type * as pulumi from "@pulumi/pulumi";
import { expect, it, test } from "vitest";
import type { TenantSettings } from "../../../provider";
import type { TenantSettingsArgs } from "../../../provider/gitops/tenant-settings";
import { DocsPage } from "../../support/docs-page";

/** As built by `npm run setup`, from the schemas that check the arguments. */
const schema = JSON.parse(readFileSync("provider/dist/plugin/schema.json", "utf8")) as PackageSchema;

interface PackageSchema {
  readonly provider: { readonly inputProperties: object };
  readonly config: { readonly variables: object };
  readonly resources: Readonly<
    Record<string, { readonly properties: object; readonly inputProperties: object; readonly isComponent?: true }>
  >;
}

const resources = new DocsPage("reference/resources.md");
const configuration = new DocsPage("reference/configuration.md");

/** The heading of the options that all lists share. */
const SHARED = "Arguments of every list";

const kinds = Object.entries(schema.resources).map(
  ([token, resource]) => [token.replace(/^.*:/, ""), resource] as const,
);

test.for(kinds)(
  "documents the properties of %s as in the schema",
  ([kind, { properties, inputProperties, isComponent }]) => {
    const documentedArguments = resources.getTableCodes(`Arguments of \`${kind}\``);
    expect(documentedArguments.toSorted()).toEqual(Object.keys(inputProperties).toSorted());
    // A component has no outputs with the plugin: its resources have their own.
    if (isComponent) return;
    expect(resources.getTableCodes(`Outputs of \`${kind}\``).toSorted()).toEqual(Object.keys(properties).toSorted());
  },
);

it("lists every resource at the top", () => {
  const names = kinds.map(([kind]) => kind);
  expect(resources.getTableCodes("Resources").toSorted()).toEqual(names.toSorted());
});

it("documents every argument that both lists share", () => {
  const [entries = {}, vips = {}] = ["AllowDenyList", "VipList"].map(
    (kind) => schema.resources[`email-security:index:${kind}`]?.inputProperties,
  );
  const shared = Object.keys(entries).filter((name) => name in vips);
  expect(new Set(resources.getTableCodes(SHARED))).toEqual(new Set(shared));
});

it("documents the properties of TenantSettings", () => {
  // Compiles only if the names are complete and exact.
  const argumentNames: Record<keyof TenantSettingsArgs, true> = { file: true, today: true };
  const own: Record<Exclude<keyof TenantSettings, keyof pulumi.ComponentResource>, true> = {
    entries: true,
    vips: true,
  };
  expect(resources.getTableCodes("Arguments of `TenantSettings`")).toEqual(Object.keys(argumentNames));
  expect(resources.getTableCodes("Outputs of `TenantSettings`")).toEqual(Object.keys(own));
});

it("documents every Provider argument", () => {
  const names = Object.keys(schema.provider.inputProperties).toSorted();
  expect(configuration.getTableCodes("`Provider`").toSorted()).toEqual(names);
  expect(Object.keys(schema.config.variables).toSorted()).toEqual(names);
  expect(configuration.getTableCodes("Settings and their sources").toSorted()).toEqual(names);
});
